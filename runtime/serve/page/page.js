// The chat page of `vantage serve`. An answer is streamed; then the attention of its tokens is asked for, and each word
// lights what it read.
"use strict";
const $ = (id) => document.getElementById(id);
const history = []; // {role, content}
let model = null, running = null;
let shown = null; // the answer whose places are shown: {id, places, prompt, reads: Map(row → {at, w}), spans, element}
let asked = 0; // number of the last question about heads: an older answer is not shown

function headers() {
  const key = $("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: "Bearer " + key } : {}) };
}

async function ask(path, body, signal) {
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers: headers(), body: body && JSON.stringify(body), signal });
  if (answer.status === 401) $("key-field").hidden = false;
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error?.message ?? answer.statusText);
  return answer;
}

function option(select, value, text) {
  const one = document.createElement("option");
  one.value = value;
  one.textContent = text;
  select.append(one);
}

async function begin() {
  try {
    model = (await (await ask("v1/models")).json()).data[0];
  } catch (error) {
    $("status").textContent = error.message;
    return false;
  }
  if (!model) {
    $("status").textContent = "the model is being loaded";
    setTimeout(begin, 1000);
    return false;
  }
  $("model").textContent = model.id;
  document.title = model.id + " – Vantage";
  $("status").textContent = model.meta.chat ? "" : "No chat template: what you write is continued.";
  $("layer").replaceChildren();
  $("head").replaceChildren();
  option($("layer"), "all", "mean of all");
  for (const layer of model.meta.attending_layers) option($("layer"), layer, layer);
  option($("head"), "mean", "mean");
  for (let head = 0; head < model.meta.heads; ++head) option($("head"), head, head);
  return true;
}

function message(role, text) {
  const one = document.createElement("div");
  one.className = "message " + role;
  one.textContent = text;
  $("messages").append(one);
  one.scrollIntoView({ block: "end" });
  return one;
}

// Calls onData with the JSON of each event of a stream.
async function readStream(answer, onData) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events)
      if (event.startsWith("data: {")) onData(JSON.parse(event.slice(6)));
  }
}

async function send(text) {
  if (running || !text.trim() || (!model && !(await begin()))) return;
  message("user", text);
  history.push({ role: "user", content: text });
  const element = message("answer", "");
  running = new AbortController();
  $("stop").disabled = false;
  $("send").disabled = true;
  const thoughts = document.createElement("span");
  thoughts.className = "reasoning";
  let id = null, reply = "";
  try {
    const limit = model.meta.chat ? {} : { max_tokens: 100 };
    const body = model.meta.chat ? { messages: history } : { prompt: history.map((one) => one.content).join("") };
    const path = model.meta.chat ? "v1/chat/completions" : "v1/completions";
    const answer = await ask(path, { ...body, ...limit, model: model.id, stream: true }, running.signal);
    await readStream(answer, (chunk) => {
      if (chunk.error) throw new Error(chunk.error.message);
      id = chunk.id;
      reply += chunk.choices[0]?.delta?.content ?? chunk.choices[0]?.text ?? "";
      thoughts.textContent += chunk.choices[0]?.delta?.reasoning_content ?? "";
      element.replaceChildren(thoughts, thoughts.textContent && reply ? "\n\n" + reply : reply);
      element.scrollIntoView({ block: "end" });
    });
  } catch (error) {
    if (error.name !== "AbortError") message("error", error.message);
  }
  history.push({ role: "assistant", content: reply });
  running = null;
  $("stop").disabled = true;
  $("send").disabled = false;
  if (id && element.textContent) await show(id, element);
}

// ---- attention --------------------------------------------------------------------------------------------------------

function question() {
  const layer = $("layer").value, head = $("head").value;
  const layers = layer === "all" ? model.meta.attending_layers : [Number(layer)];
  if (head === "mean") return { layers };
  return { heads: layers.map((one) => [one, Number(head)]) };
}

// The mean over the layers that were asked for, by place.
function meanReads(row) {
  const sum = new Map();
  for (const reads of row.reads) reads.at.forEach((place, i) => sum.set(place, (sum.get(place) ?? 0) + reads.w[i] / row.reads.length));
  return sum;
}

async function show(id, element) {
  try {
    const told = await (await ask("v1/attention", { id, top: 16, ...question() })).json();
    shown = { id, element, prompt: told.prompt_tokens, rows: new Map(told.rows.map((row) => [row.row, meanReads(row)])), spans: [] };
    const draw = (place, parent, isAnswer) => {
      const span = document.createElement("span");
      span.className = "place";
      span.textContent = told.places[place];
      span.dataset.place = place;
      if (isAnswer) span.tabIndex = 0;
      parent.append(span);
      (shown.spans[place] ??= []).push(span);
    };
    $("places").replaceChildren();
    for (let place = 0; place < told.places.length; ++place) draw(place, $("places"), false);
    element.replaceChildren();
    element.dataset.id = id;
    for (let place = shown.prompt; place < told.places.length; ++place) draw(place, element, true);
    $("hint").textContent = "Point at a word of the answer: what it read lights up.";
  } catch (error) {
    $("hint").textContent = error.message;
  }
}

function light(place) {
  if (!shown) return;
  for (const spans of shown.spans) for (const span of spans ?? []) {
    span.style.removeProperty("--weight");
    span.classList.remove("row");
  }
  if (place === null) return;
  const reads = shown.rows.get(place - 1); // the row whose logits drew this token
  if (!reads) return;
  for (const span of shown.spans[place]) span.classList.add("row");
  const largest = Math.max(...reads.values());
  for (const [at, w] of reads) for (const span of shown.spans[at]) {
    span.style.setProperty("--weight", (w / largest).toFixed(3));
    span.title = (100 * w).toFixed(1) + " %";
  }
  const hint = [...reads].sort((a, b) => b[1] - a[1]).slice(0, 3)
    .map(([at, w]) => `“${shown.spans[at][0].textContent.trim()}” ${(100 * w).toFixed(0)} %`).join(", ");
  $("hint").textContent = "It read most: " + hint;
  headsOf(place - 1);
}

// How spread each head's attention is in one row: dark cells look at few tokens.
async function headsOf(row) {
  const number = ++asked;
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (number !== asked || model.meta.attending_layers.length * model.meta.heads > 1024) return;
  const told = await (await ask("v1/attention", { id: shown.id, heads: "each", rows: [row, 1], top: 1 })).json().catch(() => null);
  if (!told?.rows || number !== asked) return;
  const table = document.createElement("tbody");
  for (const layer of model.meta.attending_layers) {
    const line = document.createElement("tr"), name = document.createElement("th");
    name.textContent = layer;
    line.append(name);
    for (const one of told.rows[0].reads.filter((reads) => reads.layer === layer)) {
      const cell = document.createElement("td"), button = document.createElement("button");
      button.style.setProperty("--weight", Math.exp(-one.entropy).toFixed(3));
      button.title = `head ${layer}.${one.head}: entropy ${one.entropy.toFixed(2)} nats`;
      button.setAttribute("aria-label", button.title);
      button.setAttribute("aria-pressed", $("layer").value === String(layer) && $("head").value === String(one.head));
      button.addEventListener("click", () => {
        $("layer").value = layer;
        $("head").value = one.head;
        again();
      });
      cell.append(button);
      line.append(cell);
    }
    table.append(line);
  }
  $("heads").replaceChildren(table);
}

async function again() {
  if (!shown) return;
  const place = document.querySelector(".answer .place.row")?.dataset.place;
  await show(shown.id, shown.element);
  if (place) light(Number(place));
}

// ---- what people do ---------------------------------------------------------------------------------------------------

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("input").value;
  $("input").value = "";
  send(text);
});
$("input").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("form").requestSubmit();
});
$("stop").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});
function pointed(event) {
  const span = event.target.closest?.(".answer .place");
  if (!span) return;
  const element = span.parentElement;
  if (shown?.element !== element) return show(element.dataset.id, element);
  light(Number(span.dataset.place));
}
$("messages").addEventListener("mouseover", pointed);
$("messages").addEventListener("focusin", pointed);
$("messages").addEventListener("keydown", (event) => {
  const span = event.target.closest?.(".place");
  const next = event.key === "ArrowRight" ? span?.nextElementSibling : event.key === "ArrowLeft" ? span?.previousElementSibling : null;
  if (!next) return;
  event.preventDefault();
  next.focus();
});
for (const id of ["layer", "head"]) $(id).addEventListener("change", again);
$("key-field").addEventListener("submit", (event) => event.preventDefault());
$("key").addEventListener("change", begin);
begin();
