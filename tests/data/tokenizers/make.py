#!/usr/bin/env python3
"""Makes the tokenizers beside this file, and what the libraries say about them.

    python3 tests/data/tokenizers/make.py          # all of them
    python3 tests/data/tokenizers/make.py clip     # only this

Needs Hugging Face `tokenizers` (these files: 0.23.1) and `sentencepiece` (0.2.2), which compiles the character map.
Each folder gets a tokenizer.json of a kind that is in use and a tokenizer_expected.json in the format of
tests/data/oracle/README.md, section 2. Training is deterministic; another version of the libraries may choose other
words.
"""
import io
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))

CORPUS = """The dog chased the birds. They flew away, and the dog barked: it wasn't amused. The birds' nest was empty.
Attention is a weighted mean of values; weights come from the products of queries and keys. It's 2017, or 1,234 years later?
A transformer's layers add what they find to the stream of residuals. We've read it, you're reading it, I'll read it again.
Die Größe der Wörter ändert sich: naïve café façade. Чтение текста. 日本語のテキスト 中文字符. def add(a, b): return a + b
Reading, reader, reads, unreadable, rereading; weight, weights, weighted, unweighted; bird, birds, birdsong; keys and values.
""".splitlines()

EXTRA = [
    "Reading the unreadable weights, again and again!", "it wasn't ' quoted ' , was it ? do not . ",
    "  two  spaces   three\u3000wide ", "e\u0301 E\u0301 a\u0308\u0301 o\u0308x ﬁnd ① … Ａ Ｂ\u200bC", "\u0301start e\u0301\u0301\u0301",
    "<mask> the <mask>dog  <mask>", "<s> the </s> dog<unk>x [UNK] [MASK]", "ÀÉ Größe ẞ İstanbul ǅ ΑΣ", "12345 1,234.5 ½ ②",
    "日本語 の中文𠀀\u4e00x", "\x00\x01\x7f\x80\x85\xad\ufffd\u200e\ue000x", "a\u2028b\u2029c\u1680d\u00a0e\tf\r\ng", "🙂👍🏽🇩🇪 ok",
    "x" * 120, "dog" * 60, "▁the ▁dog", "क्षि नमस्ते ำน", "ÅÅ각",
]

# Rules of a character map: one for one, shorter, longer, to nothing; with a mark; one that begins another ("q").
RULES = [("Ａ", "A"), ("Ｂ", "B"), ("①", "1"), ("②", "(2)"), ("ﬁ", "fi"), ("…", "..."), ("\u3000", " "), ("\t", " "), ("\n", " "),
         ("\r", ""), ("\u200b", ""), ("\x01", ""), ("e\u0301", "é"), ("E\u0301", "É"), ("o\u0308", "oe"), ("q", "k"), ("q\u0301", "kk"), ("½", "1/2"),
         ("Å", "A\u030a"), ("🙂", ":-)"), ("\u00ad", "")]


def character_map():
    """A precompiled_charsmap, out of the model that sentencepiece writes."""
    import sentencepiece

    path = os.path.join(HERE, "rules.tsv")
    with open(path, "w") as f:
        for a, b in RULES:
            f.write(" ".join("%X" % ord(c) for c in a) + "\t" + " ".join("%X" % ord(c) for c in b) + "\n")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=120,
                                             normalization_rule_tsv=path, minloglevel=2)
    os.remove(path)
    return field(field(model.getvalue(), 3), 2)  # ModelProto.normalizer_spec, its precompiled_charsmap


def field(message, wanted):
    """The bytes of a length-delimited field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            if key >> 3 == wanted:
                return message[at:at + size]
            at += size
        elif key & 7 == 0:
            varint()
        else:
            at += {1: 8, 5: 4}[key & 7]


def bert_cased():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=50))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=220, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def roberta():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)]
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return tokenizer


def t5():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(character_map()), normalizers.Strip(left=False),
                                                 normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=200, special_tokens=["<pad>", "</s>", "<unk>"],
                                                                  unk_token="<unk>", show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def unigram_bytes():
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    words = ["▁", "e", "t", "a", "o", "n", "s", "r", "i", "d", "h", "g", "th", "▁the", "▁dog", "in", "ing", "re", "read", "▁a", "en", "x", "xx"]
    vocab = [(t, 0.0) for t in tokens] + [(w, -2.0 - i / 4) for i, w in enumerate(words)]
    tokenizer = Tokenizer(models.Unigram(vocab, 0, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> <s>:1 $B:1 </s>:1",
                                                             special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


def llama3():
    words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=["<s>", "</s>"], show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 0)])])
    return tokenizer


def clip():
    # as transformers' CLIPTokenizer makes it: a word's last letters have a suffix of their own
    words = (r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", continuing_subword_prefix="", end_of_word_suffix="</w>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "removed", invert=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=420, end_of_word_suffix="</w>", show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    special = ["<|startoftext|>", "<|endoftext|>"]  # the last of the vocabulary
    data = json.loads(tokenizer.to_str())
    data["model"]["vocab"].update({token: len(data["model"]["vocab"]) + i for i, token in enumerate(special)})
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_special_tokens(special)
    begin, end = (tokenizer.token_to_id(f"<|{name}oftext|>") for name in ("start", "end"))
    tokenizer.post_processor = processors.RobertaProcessing(("<|endoftext|>", end), ("<|startoftext|>", begin), trim_offsets=False,
                                                            add_prefix_space=False)
    return tokenizer


def expected(tokenizer, texts):
    def text_of(ids, skip):  # a space for the suffix, as CLIPTokenizer.decode, which also strips the ends
        suffix = getattr(tokenizer.model, "end_of_word_suffix", None)
        text = tokenizer.decode(ids, skip_special_tokens=skip)
        return text.replace(suffix, " ") if suffix else text

    def case(text):
        plain, special = tokenizer.encode(text, add_special_tokens=False), tokenizer.encode(text)
        return {"text": text, "ids": plain.ids, "tokens": plain.tokens, "offsets": plain.offsets, "ids_with_special": special.ids,
                "decoded": text_of(plain.ids, False), "decoded_skip_special": text_of(special.ids, True)}

    def pair(a, b):
        both = tokenizer.encode(a, b)
        return {"a": a, "b": b, "ids": both.ids, "type_ids": both.type_ids}

    def decode(ids):
        return {"ids": ids, "decoded": text_of(ids, False), "decoded_skip_special": text_of(ids, True)}

    pick = random.Random(7)
    size = tokenizer.get_vocab_size()
    return {"vocab_size": size, "cases": [case(text) for text in texts],
            "pairs": [pair(a, b) for a, b in zip(texts[:4], texts[1:5])] + [pair("", ""), pair("the", "")],
            "decode_only": [decode([pick.randrange(size) for _ in range(n)]) for n in (0, 1, 5, 20, 60)]}


def main():
    for make in [globals()[name] for name in sys.argv[1:]] or (bert_cased, roberta, t5, unigram_bytes, llama3, clip):
        folder = os.path.join(HERE, make.__name__)
        os.makedirs(folder, exist_ok=True)
        tokenizer = make()
        path = os.path.join(folder, "tokenizer.json")
        tokenizer.save(path, pretty=False)
        with open(os.path.join(folder, "tokenizer_expected.json"), "w") as f:
            json.dump(expected(Tokenizer.from_file(path), CORPUS[:2] + EXTRA), f, separators=(",", ":"))


if __name__ == "__main__":
    main()
