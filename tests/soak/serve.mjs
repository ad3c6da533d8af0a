// serve.mjs ADDRESS PID REQUESTS [AT_ONCE]: requests of a server that are whole, streamed, cut at random moments, broken,
// read slowly or too long. At the end no request is left, answers that ran alone come again, and memory has not grown.
// Needs node alone.
import { readFileSync } from "node:fs";
import { connect } from "node:net";

const [address, pid, count, atOnce = "32"] = process.argv.slice(2);
const { hostname, port } = new URL(address);
let seed = 1;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
const rest = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
const failures = [];
const seen = {};
const note = (what) => (seen[what] = (seen[what] ?? 0) + 1);

const prompts = ["The dog", "A red key is in", "Mia the baker looked for the", "The cup on the old table", "Yesterday Tom said that the"];
const bodyOf = (number, more) => JSON.stringify({ prompt: prompts[number % prompts.length], max_tokens: 1 + (number * 7) % 40, seed: number % 16, ...more });
const known = new Map(); // body → text: with f32 a text depends on its request alone
const post = (path, body, init) => fetch(address + path, { method: "POST", body, ...init });

function compare(body, text) {
  if (!known.has(body)) known.set(body, text);
  if (known.get(body) !== text) failures.push(`another text for ${body}: ${text}`);
}
async function whole(number) {
  const body = bodyOf(number);
  const answer = await post("/v1/completions", body);
  note(answer.status);
  const told = await answer.json();
  if (answer.status === 200) compare(body, told.choices[0].text);
  else if (answer.status === 429) await rest(0.2);
  else failures.push(`${answer.status}: ${JSON.stringify(told)}`);
}
async function streamed(number) {
  const answer = await post("/v1/completions", bodyOf(number, { stream: true }));
  note(answer.status);
  const text = await answer.text();
  if (answer.status === 429) return rest(0.2);
  if (!text.endsWith("data: [DONE]\n\n")) return failures.push(`a stream that ends with ${JSON.stringify(text.slice(-80))}`);
  compare(bodyOf(number), [...text.matchAll(/^data: (\{.*)$/gm)].map((one) => JSON.parse(one[1]).choices[0].text).join(""));
}
async function cut(number) {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 300 * random());
  note("cut");
  const body = bodyOf(number, { stream: random() < 0.7, max_tokens: 200, ignore_eos: true });
  await post("/v1/completions", body, { signal: abort.signal }).then((answer) => answer.text()).catch(() => {});
}
async function broken(number) {
  const bodies = ["", "{", "[]", '{"prompt": 3}', '{"prompt": "a", "n": 1e9}', '{"prompt": "a", "seed": 99999999999999999999}',
    "[".repeat(5000), `{"prompt": "${"word ".repeat(3000)}"}`, '{"prompt": "a", "temperature": -1}', '{"prompt": [4294967296]}'];
  const answer = await post("/v1/completions", bodies[number % bodies.length]);
  note(answer.status);
  if (answer.status !== 400) failures.push(`${answer.status} for ${bodies[number % bodies.length].slice(0, 60)}`);
  await answer.text();
}
// Half a request, or one whose answer is not read for a while; then the connection is cut.
function rude(number) {
  return new Promise((resolve) => {
    const body = bodyOf(number, { stream: true, max_tokens: 100, ignore_eos: true });
    const text = `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.pause();
      socket.write(number % 2 ? text : text.slice(0, Math.floor(text.length * random())));
      setTimeout(() => (random() < 0.5 ? socket.destroy() : socket.resetAndDestroy()), 200 * random());
    });
    socket.on("error", () => {});
    socket.on("close", resolve);
    note("rude");
  });
}

const kinds = [whole, whole, streamed, streamed, cut, cut, broken, rude];
const health = [];
let done = false;
const watching = (async () => {
  while (!done) {
    const begin = performance.now();
    const answer = await fetch(address + "/health");
    await answer.text();
    health.push(performance.now() - begin);
    if (answer.status !== 200) failures.push(`/health: ${answer.status}`);
    await rest(0.02);
  }
})();
let next = 0, settled = 0;
const warm = Math.min(500, Number(count) / 4);
async function client() {
  while (next < Number(count)) {
    const number = next++;
    if (number === Math.floor(warm)) settled = memory();
    await kinds[Math.floor(random() * kinds.length)](number).catch((error) => failures.push(`${error.cause ?? error}`));
  }
}
const begin = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, client));
done = true;
await watching;
let left = -1;
for (let i = 0; i < 500 && left !== 0; ++i) {
  left = (await (await fetch(address + "/v1/requests")).json()).data.length;
  await rest(0.02);
}
if (left !== 0) failures.push(`${left} requests are left`);
const grown = memory() - settled;
if (grown > 32) failures.push(`memory grew by ${grown.toFixed(1)} MiB`);
health.sort((a, b) => a - b);
const late = health[Math.floor(0.99 * health.length)];
console.log(`${count} requests in ${((performance.now() - begin) / 1000).toFixed(0)} s: ${JSON.stringify(seen)}`);
console.log(`memory grew by ${grown.toFixed(1)} MiB after the first ${Math.floor(warm)}; /health: 99 of 100 within ${late.toFixed(1)} ms`);
for (const failure of failures.slice(0, 20)) console.log("FAILED: " + failure);
console.log(failures.length ? `${failures.length} failures` : "no failure");
process.exit(failures.length ? 1 : 0);
