// Texts of JSON schemas, against validators that others wrote: for every schema of the JSON Schema test suite that the
// server takes, what it generates must be valid for ajv. Run by run.sh with the address of a decoder.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { generateText, Output } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Ajv from "ajv-draft-04";
import addFormats from "ajv-formats";
import { z } from "zod";

const [decoder] = process.argv.slice(2);
let failures = 0;
function fail(what, found) {
  failures += 1;
  console.log(`FAILED: ${what}: ${JSON.stringify(found)}`);
}

// ---- the test suite
async function complete(schema, seed) {
  const answer = await fetch(decoder + "/v1/completions", {
    method: "POST",
    headers: { Authorization: "Bearer first" },
    body: JSON.stringify({ prompt: "The dog", max_tokens: 100, temperature: 1.5, seed,
      response_format: { type: "json_schema", json_schema: { name: "form", schema } } }),
  });
  return { status: answer.status, ...(await answer.json()) };
}
const folder = createRequire(import.meta.url).resolve("json-schema-test-suite/package.json").replace("package.json", "tests/draft4");
const counts = { schemas: 0, refused: 0, texts: 0, whole: 0 };
async function checkSchema(schema, what) {
  counts.schemas += 1;
  const ajv = addFormats(new Ajv({ strict: false, validateFormats: true }));
  let validate = null;
  for (const seed of [1, 2]) {
    const answer = await complete(schema, seed);
    if (answer.status === 400) {
      counts.refused += 1;
      if (!/JSON schema|grammar|must be/.test(answer.error.message)) fail(`${what}: the message`, answer.error.message);
      return;
    }
    if (answer.status !== 200) return fail(`${what}: the status`, answer);
    const { text, finish_reason: reason } = answer.choices[0];
    counts.texts += 1;
    if (reason === "length") continue; // cut off
    if (reason !== "stop") return fail(`${what}: the reason`, { schema, text, reason });
    counts.whole += 1;
    try {
      validate ??= ajv.compile(schema);
      if (!validate(JSON.parse(text))) fail(`${what}: what ajv says`, { schema, text, errors: validate.errors });
    } catch (error) {
      fail(`${what}: ${error.message}`, { schema, text });
    }
  }
}
const work = [];
for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")))
  for (const group of JSON.parse(readFileSync(`${folder}/${file}`, "utf8")))
    // oneOf is read as anyOf, which docs/serving.md says
    if (!JSON.stringify(group.schema).includes('"oneOf"')) work.push([group.schema, `${file}, ${group.description}`]);
await Promise.all(Array.from({ length: 4 }, async () => {
  for (let next = work.pop(); next; next = work.pop()) await checkSchema(...next);
}));
if (counts.whole < 40) fail("whole texts", counts);

// ---- clients that ask for objects
const person = z.object({ name: z.string().max(12), age: z.number().int().min(1).max(120), pets: z.array(z.enum(["dog", "cat"])).max(3) });
const messages = [{ role: "user", content: "Who?" }];
const client = new OpenAI({ baseURL: decoder + "/v1", apiKey: "first", maxRetries: 0 });
const parsed = await client.chat.completions.parse({ model: "mini-world", messages, seed: 4, max_tokens: 100, response_format: zodResponseFormat(person, "person") });
if (!person.safeParse(parsed.choices[0].message.parsed).success) fail("openai's parse", parsed.choices);
const provider = createOpenAICompatible({ name: "vantage", baseURL: decoder + "/v1", apiKey: "first", supportsStructuredOutputs: true });
const { output } = await generateText({ model: provider.chatModel("mini-world"), messages, maxOutputTokens: 100, output: Output.object({ schema: person }) });
if (!person.safeParse(output).success) fail("ai's Output.object", output);

console.log(`${counts.schemas} schemas, ${counts.refused} not supported; ${counts.whole} of ${counts.texts} texts were whole`);
console.log(failures ? `${failures} checks of forms failed` : "all texts of schemas are valid for ajv");
process.exit(failures ? 1 : 0);
