// Clients that others wrote, against `vantage serve`: npm's openai and ai. Run by run.sh with the addresses of a decoder
// and an encoder; each check says what it found.
import OpenAI from "openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { check, end, thrown } from "./check.mjs";

const [decoder, encoder, expected] = process.argv.slice(2);
const client = new OpenAI({ baseURL: decoder + "/v1", apiKey: "first", maxRetries: 0 });
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }];
const greedy = { model: "mini-world", temperature: 0 };

// ---- models, completions
const models = await client.models.list();
check("one model", models.data.length === 1 && models.data[0].id === "mini-world", models.data);
check("a model by name", (await client.models.retrieve("mini-world")).object === "model");
const whole = await client.completions.create({ ...greedy, prompt: "The dog", max_tokens: 12 });
check("a completion", whole.choices[0].text === expected, whole.choices);
check("usage", whole.usage.prompt_tokens === 2 && whole.usage.completion_tokens === 12, whole.usage);
let text = "", reason = null;
for await (const chunk of await client.completions.create({ ...greedy, prompt: "The dog", max_tokens: 12, stream: true })) {
  text += chunk.choices[0].text;
  reason = chunk.choices[0].finish_reason ?? reason;
}
check("a streamed completion", text === expected && reason === "length", { text, reason });
const scored = await client.completions.create({ ...greedy, prompt: "The dog was", max_tokens: 0, echo: true, logprobs: 2 });
const logprobs = scored.choices[0].logprobs;
check("echo", scored.choices[0].text === "The dog was", scored.choices[0].text);
check("logprobs of a prompt", logprobs.tokens.join("") === "The dog was" && logprobs.token_logprobs[0] === null &&
  logprobs.token_logprobs.slice(1).every((x) => x < 0), logprobs);
check("the token itself is told", logprobs.tokens.slice(1).every((token, i) => token in logprobs.top_logprobs[i + 1]), logprobs);

// ---- chat
const chat = await client.chat.completions.create({ ...greedy, messages, max_completion_tokens: 5, logprobs: true, top_logprobs: 2 });
check("a reply", chat.choices[0].message.role === "assistant" && typeof chat.choices[0].message.content === "string", chat);
const told = chat.choices[0].logprobs.content;
check("logprobs of a reply", told.length === 5 && told.every((one) => one.top_logprobs[0].logprob === one.logprob), told);
const stream = client.chat.completions.stream({ ...greedy, messages, max_completion_tokens: 5, stream_options: { include_usage: true } });
const final = await stream.finalChatCompletion();
check("a streamed reply", final.choices[0].message.content === chat.choices[0].message.content, final);
check("its usage", final.usage?.completion_tokens === 5, final.usage);
const several = await client.chat.completions.create({ model: "mini-world", messages, n: 3, seed: 7, max_tokens: 6 });
check("three choices", several.choices.map((one) => one.index).join() === "0,1,2", several.choices);

// ---- errors are the classes that clients know
check("400", (await thrown(() => client.completions.create({ ...greedy, prompt: "a", n: 99 }))) instanceof OpenAI.BadRequestError);
check("401", (await thrown(() => new OpenAI({ baseURL: decoder + "/v1", apiKey: "wrong" }).models.list())) instanceof OpenAI.AuthenticationError);
check("404", (await thrown(() => client.models.retrieve("gpt-9"))) instanceof OpenAI.NotFoundError);
const long = "a ".repeat(4000);
const refused = await thrown(() => client.completions.create({ ...greedy, prompt: long }));
check("a prompt that is too long", refused instanceof OpenAI.BadRequestError && /context/.test(refused.message), refused?.message);

// ---- a reader that stops frees its slot
const endless = { model: "mini-world", prompt: "The dog", max_tokens: 240, ignore_eos: true, stream: true };
const aborted = await client.completions.create(endless);
for await (const chunk of aborted) {
  if (chunk.choices[0].text) break; // closes the connection
}
const live = async () =>
  (await (await fetch(decoder + "/v1/requests", { headers: { Authorization: "Bearer first" } })).json()).data.length;
for (let i = 0; i < 200 && (await live()) > 0; ++i) await new Promise((resolve) => setTimeout(resolve, 20));
check("no request is left", (await live()) === 0, await live());

// ---- all at once: none is lost, and the texts are those of single requests
const answers = await Promise.all(
  Array.from({ length: 16 }, () => client.completions.create({ ...greedy, prompt: "The dog", max_tokens: 12 })));
check("sixteen at once", answers.every((one) => one.choices[0].text === expected), answers.map((one) => one.choices[0].text));

// ---- embeddings: the client asks for base64 by itself
const embedder = new OpenAI({ baseURL: encoder + "/v1", apiKey: "none", maxRetries: 0 });
const vectors = await embedder.embeddings.create({ model: "bert", input: ["The dog", "a red key"] });
const floats = await embedder.embeddings.create({ model: "bert", input: "The dog", encoding_format: "float" });
const length = Math.hypot(...vectors.data[0].embedding);
check("two vectors of length 1", vectors.data.length === 2 && Math.abs(length - 1) < 1e-5, length);
check("base64 and numbers agree", floats.data[0].embedding.every((x, i) => Math.abs(x - vectors.data[0].embedding[i]) < 1e-6));

// ---- the AI SDK
const provider = createOpenAICompatible({ name: "vantage", baseURL: decoder + "/v1", apiKey: "first", includeUsage: true });
const generated = await generateText({ model: provider.completionModel("mini-world"), prompt: "The dog", temperature: 0, maxOutputTokens: 6 });
check("generateText", generated.text.length > 0 && generated.usage.outputTokens === 6, generated.usage);
const streamed = streamText({ model: provider.chatModel("mini-world"), messages: [{ role: "user", content: "Hi" }], temperature: 0, maxOutputTokens: 5 });
let pieces = "";
for await (const piece of streamed.textStream) pieces += piece;
check("streamText", pieces.length > 0 && (await streamed.finishReason) === "length", { pieces, reason: await streamed.finishReason });

end("npm's openai and ai");
