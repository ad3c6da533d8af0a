#!/usr/bin/env python3
"""Trains byte-level BPE vocabularies with Hugging Face `tokenizers` (these files: 0.23.1), for tests/host/train_bpe_test.cpp.

    python3 tests/data/bpe_training/make.py

expected.json: settings, documents, and the tokens (by id) and merges (by rank) of each case, one case a line.
tokenizer.json: the file of the first case, as `Tokenizer.save` writes it.
"""
import json
import os

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))

ENGLISH = """The dog chased the birds. They flew away, and the dog barked: it wasn't amused. The birds' nest was empty.
Attention is a weighted mean of values; weights come from the products of queries and keys. It's 2017, or 1,234 years later?
A transformer's layers add what they find to the stream of residuals. We've read it, you're reading it, I'll read it again.
Reading, reader, reads, unreadable, rereading; weight, weights, weighted, unweighted; bird, birds, birdsong; keys and values.
\tdef add(a, b):\n        return a + b  # adds\n\n\n  He'd said:  "I'm sure they'd've come."  \n
""".splitlines(keepends=True)

UNICODE = ["Die Größe der Wörter ändert sich: naïve café façade, Größen und Wörterbücher.", "Чтение текста, чтение слов. ЧТЕНИЕ!",
           "日本語のテキスト、日本語の文字。中文字符，中文文本。\u3000日本語\u3000", "🙂👍🏽🇩🇪 🙂👍🏽 👩\u200d👩\u200d👧 ok 👩\u200d👩\u200d👧", "e\u0301 e\u0301e\u0301 a\u0308o\u0308 क्षि नमस्ते नमस्ते",
           "½ ② ٣٤ ٣٤ Ⅷ Ⅷ 𝟘𝟙 𝟘𝟙", "a\u00a0b\u2028c\u0085d\u1680e\u180ef\u200bg\x1ch\x00i\x7fj\ufffdk\u00a0b", "don’t ‘quoted’ — don’t"]

# Every pair of letters occurs as often as the others.
TIES = ["zy xw vu ts rq po nm lk ji hg fe dc ba", "ba dc fe hg ji lk nm po rq ts vu xw zy", "abcd cdab abdc", "é ü ñ ø \u00e9 \u00fc"]

RUNS = ["a aa aaa aaaa aaaaa aaaaaa aaaaaaa aaaaaaaa", "abab ababab babab bababa aabb aabbaabb", "          x    x\n\n\n\n\n", "!!!!!!!!!!!! ---------- ..."]

CASES = {
    "english": dict(vocab=330, min_frequency=2, special_tokens=["<|endoftext|>"], documents=ENGLISH),
    "unicode": dict(vocab=400, min_frequency=0, documents=UNICODE),
    "ties": dict(vocab=300, min_frequency=0, documents=TIES),
    "runs": dict(vocab=300, min_frequency=0, documents=RUNS),
    # Words, letters and characters of the text among them, one that needs escapes, and texts that spell them out.
    "special tokens": dict(vocab=340, min_frequency=2, documents=ENGLISH + ["<s>the</s> <s>the</s> a \"q\\\" a"],
                           special_tokens=["<s>", "</s>", "the", "a", "Ġ", "Ġthe", "re", "\"q\\\n\x01\x7f", "Größe", "ö"]),
    "minimum frequency": dict(vocab=1000, min_frequency=6, special_tokens=["<s>"], documents=ENGLISH),
    "prefix space": dict(vocab=310, min_frequency=2, add_prefix_space=True,
                         documents=["the dog", " the dog", "", "the", "\tthe", "dogs the dogs", "\nthe", "dog", "  dog"]),
    "no pair left": dict(vocab=1000, min_frequency=0, special_tokens=["<s>", "</s>"], documents=["low lower lowest", "newer wider new"]),
    "no merge": dict(vocab=257, min_frequency=2, special_tokens=["<s>"], documents=["low low low"]),
}


def train(case):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=case["add_prefix_space"])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(case["documents"], trainers.BpeTrainer(
        vocab_size=case["vocab"], min_frequency=case["min_frequency"], special_tokens=case["special_tokens"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def main():
    lines = []
    for name, settings in CASES.items():
        case = dict(name=name, special_tokens=[], add_prefix_space=False) | settings
        tokenizer = train(case)
        if not lines: tokenizer.save(os.path.join(HERE, "tokenizer.json"))
        model = json.loads(tokenizer.to_str())["model"]
        tokens = sorted(model["vocab"], key=model["vocab"].get)
        assert list(model["vocab"].values()) == list(range(len(tokens)))
        lines.append(json.dumps(case | dict(tokens=tokens, merges=model["merges"]), ensure_ascii=False, separators=(",", ":")))
        print(f"{name}: {len(tokens)} tokens, {len(model['merges'])} merges")
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8", newline="") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
