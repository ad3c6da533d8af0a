#!/usr/bin/env python3
"""Divides texts into words as models' tokenizers do, with Hugging Face's tokenizers: gguf_words.json.

    python3 make_gguf_words.py >gguf_words.json

Debian sid: python3-tokenizers. The patterns are those of the models' tokenizer.json, of falcon those of llama.cpp, by the names that
llama.cpp gives them.
"""
import json

from tokenizers import Regex, pre_tokenizers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CASED = (r"[^\r\n\p{L}\p{N}]?UPPER*LOWER+END|[^\r\n\p{L}\p{N}]?UPPER+LOWER*END|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
         .replace("UPPER", UPPER).replace("LOWER", LOWER))
PATTERNS = {"llama-bpe": [WORDS % r"\p{N}{1,3}"], "dbrx": [WORDS % r"\p{N}{1,3}"], "qwen2": [WORDS % r"\p{N}"],
            "gpt-4o": [CASED.replace("END", CONTRACTIONS + "?").replace("DIGITS", r"\p{N}{1,3}")], "tekken": [CASED.replace("END", "").replace("DIGITS", r"\p{N}")],
            "bloom": [" ?[^(\\s|[.,!?…。，、।۔،])]+"], "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT_2, "[0-9][0-9][0-9]"]}
TEXTS = ["I've got 12345 MiXED-case words, CamelCaseHTML's don't!  Don'T  end\n\n  x",
         "a…b。c, (d|e) f…  Café E\u0301COLE ǅungla 一二三 $1,234.50 <=> `x` 7890123", "/path/to//file.py:\r\n\t\tif x==y:\n", "   ", "\n\n \n"]


def main():
    words = {}
    for name, patterns in PATTERNS.items():
        divide = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])
        words[name] = [[word for word, _ in divide.pre_tokenize_str(text)] for text in TEXTS]
    print(json.dumps({"texts": TEXTS, "words": words}, ensure_ascii=True))


if __name__ == "__main__":
    main()
