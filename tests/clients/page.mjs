// The chat page of `vantage serve` in a real browser: Chromium, driven by npm's playwright-core. Run by run.sh.
import { chromium } from "playwright-core";
import { check, end } from "./check.mjs";

const [address, locked, browserPath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
async function open(url, size) {
  const page = await browser.newPage({ viewport: size ?? { width: 1100, height: 700 } });
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  await page.goto(url);
  return page;
}
const live = async () => (await (await fetch(address + "/v1/requests")).json()).data.length;
const rest = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// ---- with the keyboard alone: write, send, go through the words
const page = await open(address);
await page.waitForFunction(() => document.getElementById("model").textContent === "mini-world");
await page.focus("#input");
await page.keyboard.type("The dog chased the cat because");
await page.keyboard.press("Enter");
await page.waitForSelector(".answer .place", { timeout: 60000 });
const words = page.locator(".answer .place");
await words.first().focus();
for (let i = 0; i < 2; ++i) await page.keyboard.press("ArrowRight");
const focused = await page.evaluate(() => Number(document.activeElement.dataset.place));
check("arrow keys move through the words", focused === Number(await words.nth(2).getAttribute("data-place")), focused);

// ---- the colours are the weights that the API tells
const id = await page.getAttribute(".answer", "data-id");
const told = await (await fetch(address + "/v1/attention", {
  method: "POST", body: JSON.stringify({ id, top: 16, rows: [focused - 1, 1] }) })).json();
const mean = new Map();
for (const reads of told.rows[0].reads)
  reads.at.forEach((at, i) => mean.set(at, (mean.get(at) ?? 0) + reads.w[i] / told.rows[0].reads.length));
const largest = Math.max(...mean.values());
const lit = await page.$$eval("#places .place", (spans) => spans.map((span) => Number(span.style.getPropertyValue("--weight") || 0)));
check("each place is as dark as its weight", lit.length === told.places.length &&
  lit.every((weight, at) => Math.abs(weight - (mean.get(at) ?? 0) / largest) < 2e-3), { lit, mean: [...mean] });
check("one word is the query", (await page.locator("#places .place.row").count()) === 1);

// ---- a head of the table is chosen
await page.waitForSelector("#heads button", { timeout: 20000 });
check("a cell for each head", (await page.locator("#heads button").count()) === 32, await page.locator("#heads button").count());
await page.locator("#heads button").nth(9).click();
await page.waitForFunction(() => document.getElementById("layer").value === "1" && document.getElementById("head").value === "1");
await page.waitForSelector("#places .place.row");

// ---- what others put into a text is text
await page.fill("#input", "<img src=x onerror=alert(1)>");
await page.press("#input", "Enter");
await page.waitForFunction(() => document.querySelectorAll(".answer").length === 2);
check("no element of a message", (await page.locator("#messages img").count()) === 0);
for (let i = 0; i < 200 && (await live()) > 0; ++i) await rest(0.05);
check("no complaint of the browser", page.complaints.length === 0, page.complaints);

// ---- Escape stops an answer and frees its slot
await page.evaluate(() => { window.fetchOf = window.fetch; window.fetch = (url, init) => window.fetchOf(url, init?.body && String(url).endsWith("completions")
  ? { ...init, body: JSON.stringify({ ...JSON.parse(init.body), max_tokens: 200, ignore_eos: true }) } : init); });
await page.fill("#input", "The dog");
await page.press("#input", "Enter");
for (let i = 0; i < 200 && (await live()) === 0; ++i) await rest(0.01);
await page.keyboard.press("Escape");
for (let i = 0; i < 200 && (await live()) > 0; ++i) await rest(0.02);
check("nothing runs after Escape", (await live()) === 0);
await page.waitForFunction(() => document.getElementById("stop").disabled);

// ---- a narrow window, and a server with a key
const narrow = await open(address, { width: 375, height: 700 });
await narrow.waitForFunction(() => document.getElementById("model").textContent === "mini-world");
check("nothing is wider than the window", await narrow.evaluate(() => document.documentElement.scrollWidth <= 375));
const keyed = await open(locked);
await keyed.waitForSelector("#key-field", { state: "visible" });
await keyed.fill("#key", "first");
await keyed.press("#key", "Tab");
await keyed.waitForFunction(() => document.getElementById("model").textContent === "mini-world");

await browser.close();
end("the page");
