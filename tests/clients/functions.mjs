// Functions that a model calls, by clients that others wrote, against `vantage serve`: npm's openai and ai. Run by run.sh.
import OpenAI from "openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, tool, jsonSchema } from "ai";
import { check, end, thrown } from "./check.mjs";

const [address] = process.argv.slice(2);
const client = new OpenAI({ baseURL: address + "/v1", apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "Hi" }];
const greedy = { model: "mini-world", temperature: 0 };

const weather = { type: "function", function: { name: "weather", description: "The weather of a city.", parameters: {
  type: "object", properties: { city: { enum: ["Bern", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"], additionalProperties: false } } };
const now = { type: "function", function: { name: "time_now", parameters: { type: "object", properties: {} } } };
function fits(call) {
  const read = JSON.parse(call.function.arguments);
  return call.function.name === "time_now" ? Object.keys(read).length === 0
    : ["Bern", "Rome"].includes(read.city) && Number.isInteger(read.days) && read.days >= 1 && read.days <= 9;
}
for (const seed of [1, 2, 3, 4]) {
  const request = { model: "mini-world", messages, tools: [weather, now], tool_choice: "required", parallel_tool_calls: false, seed };
  const one = (await client.chat.completions.create(request)).choices[0];
  check("calls", one.finish_reason === "tool_calls" && one.message.content === null && one.message.tool_calls.length === 1 &&
    one.message.tool_calls.every((call) => call.type === "function" && /^[0-9A-Za-z]{9}$/.test(call.id) && fits(call)), one);
  const same = (await client.chat.completions.stream(request).finalChatCompletion()).choices[0];
  const without = (calls) => JSON.stringify(calls.map((call) => [call.function.name, call.function.arguments]));
  check("streamed calls", same.finish_reason === "tool_calls" && without(same.message.tool_calls) === without(one.message.tool_calls), same);
}
const several = (await client.chat.completions.create({ model: "mini-world", messages, tools: [weather, now], tool_choice: "required",
  seed: 2, max_tokens: 150 })).choices[0];
check("several calls", several.message.tool_calls.length > 1 && several.message.tool_calls.slice(0, -1).every(fits) &&
  new Set(several.message.tool_calls.map((call) => call.id)).size === several.message.tool_calls.length, several);
const named = await client.chat.completions.create({ model: "mini-world", messages, tools: [weather, now], parallel_tool_calls: false,
  tool_choice: { type: "function", function: { name: "weather" } } });
check("a named call", named.choices[0].message.tool_calls.length === 1 && named.choices[0].message.tool_calls[0].function.name === "weather", named);
const plain = await client.chat.completions.create({ ...greedy, messages, tools: [weather], max_tokens: 5 });
check("a text beside tools", plain.choices[0].message.tool_calls === undefined && plain.choices[0].message.content.length > 0, plain);
let asked = 0;
const runner = client.chat.completions.runTools({ model: "mini-world", messages, tool_choice: "required", parallel_tool_calls: false, seed: 5,
  tools: [{ type: "function", function: { ...weather.function, parse: JSON.parse, function: () => `sunny ${++asked}` } }] },
  { maxChatCompletions: 2 });
const last = await runner.finalMessage().catch(() => null);
check("runTools calls and goes on", asked >= 1 && runner.messages.filter((one) => one.role === "tool").length >= 1, { asked, last });
const missing = await thrown(() => client.chat.completions.create({ ...greedy, messages, tools: [weather],
  tool_choice: { type: "function", function: { name: "news" } } }));
check("a function that is not there", missing instanceof OpenAI.BadRequestError && /news/.test(missing.message), missing?.message);

const provider = createOpenAICompatible({ name: "vantage", baseURL: address + "/v1", apiKey: "none" });
const tooled = await generateText({ model: provider.chatModel("mini-world"), messages: [{ role: "user", content: "Hi" }],
  toolChoice: "required", tools: { weather: tool({ description: "The weather.", inputSchema: jsonSchema(weather.function.parameters) }) } });
check("generateText with tools", ["tool-calls", "length"].includes(tooled.finishReason) && ["Bern", "Rome"].includes(tooled.toolCalls[0].input.city), tooled.toolCalls);

end("functions");
