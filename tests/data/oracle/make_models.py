#!/usr/bin/env python3
"""Makes models/<name>/ for every architecture in MODELS below, and MODELS.md: small random models with the values that
transformers computes for them, in the format of README.md section 1.

On Debian sid (or a chroot of it):

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors python3-tokenizers
    python3 make_models.py              # all of them, a few minutes on one core
    python3 make_models.py opt bloom    # only these
    python3 make_models.py --table      # only MODELS.md

The folders here were made with torch 2.14.1 and transformers 5.12.1. Other versions may write other bits, but the
same model: weights and prompts come from the seeds alone. A folder is written only if all of these hold:

* every bias is non-zero and every norm gain differs from one
* the saved files, loaded again, give the same parameters; config.v4.json gives bit-identical logits
* eager and sdpa attention agree, where transformers has both
* greedy decoding with and without a KV cache agree, margins >= 0.05, >= 6 distinct ids
* right-padded batches of encoders give the values of the single runs

Weights are stored under the names of the hub even where transformers renames or fuses them after loading.
"""

import copy
import json
import math
import os
import re
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = (1, 17, 61)  # p0, p1, p2
DECODER_LENGTHS = (1, 9, 23)  # the same for decoders of encoder-decoder models
STEPS = 20  # greedy
LLAMA = dict(vocab_size=101, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128)
JAMBA = dict(vocab_size=101, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, mamba_d_state=8,
             num_experts_per_tok=2, max_position_embeddings=128, use_mamba_kernels=False)
BERT = dict(vocab_size=103, hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=3,
            max_position_embeddings=80)


BIG_BIRD = dict(BERT, hidden_size=32, num_attention_heads=4, block_size=4)


def entry(cls, seed, config, v4=None, drop=(), dtype="float32", shard="5GB", gains=None, kind="decoder",
          tokenizer=None):
    """v4: keys to add to config.v4.json, drop: keys to leave out of it, shard: largest shard, gains: {pattern: factor}
    for the initial values of parameters with such names, tokenizer: a folder of tests/data/tokenizers."""
    return dict(cls=cls, seed=seed, config=config, v4=v4 or {}, drop=drop, dtype=dtype, shard=shard,
                gains=gains or {}, kind=kind, tokenizer=tokenizer)


MODELS = {
    "mistral": entry("MistralForCausalLM", 201, dict(LLAMA, sliding_window=11)),
    # layer 0 sees everything, layer 1 a window; tied
    "qwen2": entry("Qwen2ForCausalLM", 202,
                   dict(LLAMA, vocab_size=127, hidden_size=48, use_sliding_window=True, sliding_window=13,
                        max_window_layers=1, tie_word_embeddings=True), drop=["layer_types"]),
    "qwen3": entry("Qwen3ForCausalLM", 203, dict(LLAMA, vocab_size=109, head_dim=16, rope_theta=1e6),
                   drop=["layer_types"], dtype="float16", gains={"[qk]_norm": 1.7}),
    "qwen3_moe": entry("Qwen3MoeForCausalLM", 242,
                       dict(LLAMA, vocab_size=103, head_dim=12, intermediate_size=40, moe_intermediate_size=24, num_experts=5,
                            num_experts_per_tok=2, norm_topk_prob=True, rope_theta=1e6), gains={"[qk]_norm": 1.7}),
    "smollm3": entry("SmolLM3ForCausalLM", 243,
                     dict(LLAMA, vocab_size=107, hidden_size=24, intermediate_size=32, num_hidden_layers=4, bos_token_id=1, eos_token_id=2,
                          pad_token_id=0)),
    "granite": entry("GraniteForCausalLM", 244,
                     dict(LLAMA, vocab_size=113, embedding_multiplier=3.0, attention_multiplier=0.4, residual_multiplier=0.7,
                          logits_scaling=0.5)),
    "olmo2": entry("Olmo2ForCausalLM", 245, dict(LLAMA, vocab_size=97), gains={"[qk]_norm": 1.7}),
    "gemma2": entry("Gemma2ForCausalLM", 204,
                    dict(LLAMA, vocab_size=131, hidden_size=40, num_hidden_layers=3, num_attention_heads=2,
                         num_key_value_heads=1, head_dim=24, query_pre_attn_scalar=20, sliding_window=9,
                         attn_logit_softcapping=5.0, final_logit_softcapping=3.0), drop=["layer_types"],
                    gains={"embed_tokens": 0.3}),
    "gptj": entry("GPTJForCausalLM", 205,
                  dict(vocab_size=97, n_positions=96, n_embd=32, n_layer=2, n_head=2, rotary_dim=12,
                       bos_token_id=1, eos_token_id=2)),
    "gpt_neox": entry("GPTNeoXForCausalLM", 206,
                      dict(vocab_size=113, hidden_size=48, intermediate_size=72, num_hidden_layers=2,
                           num_attention_heads=2, max_position_embeddings=96)),
    "gpt_neox_sequential": entry("GPTNeoXForCausalLM", 207,
                                 dict(vocab_size=101, hidden_size=36, intermediate_size=64, num_hidden_layers=2,
                                      num_attention_heads=3, max_position_embeddings=96, rotary_pct=0.5,
                                      rotary_emb_base=1000, use_parallel_residual=False)),
    "opt": entry("OPTForCausalLM", 208,
                 dict(vocab_size=101, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4,
                      max_position_embeddings=96)),
    # as opt-350m
    "opt_post_norm": entry("OPTForCausalLM", 209,
                           dict(vocab_size=127, hidden_size=48, ffn_dim=80, num_hidden_layers=2,
                                num_attention_heads=3, max_position_embeddings=96, word_embed_proj_dim=20,
                                do_layer_norm_before=False)),
    "llama_linear": entry("LlamaForCausalLM", 210,
                          dict(LLAMA, vocab_size=103, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                               rope_scaling=dict(type="linear", factor=2.5), rope_theta=5000.0)),
    "llama_llama3": entry("LlamaForCausalLM", 211,
                          dict(LLAMA, hidden_size=48, num_attention_heads=3, num_key_value_heads=1, rope_theta=2e4,
                               rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                                                 high_freq_factor=4.0, original_max_position_embeddings=32))),
    "bloom": entry("BloomForCausalLM", 212, dict(vocab_size=97, hidden_size=36, n_layer=2, n_head=3),
                   gains={"word_embeddings_layernorm": 0.3, "dense": 1.6}),
    # as falcon-40b, -7b, -rw-1b
    "falcon": entry("FalconForCausalLM", 213,
                    dict(vocab_size=107, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
                         ffn_hidden_size=64, new_decoder_architecture=True)),
    "falcon_multi_query": entry("FalconForCausalLM", 214,
                                dict(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
    "falcon_alibi": entry("FalconForCausalLM", 215,
                          dict(vocab_size=97, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, alibi=True,
                               multi_query=False, parallel_attn=False, bias=True)),
    "phi": entry("PhiForCausalLM", 216,
                 dict(vocab_size=101, hidden_size=48, intermediate_size=64, num_hidden_layers=2,
                      num_attention_heads=2, max_position_embeddings=96, partial_rotary_factor=0.25)),
    "phi3": entry("Phi3ForCausalLM", 217,
                  dict(vocab_size=113, hidden_size=36, intermediate_size=56, num_hidden_layers=2,
                       num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=96,
                       original_max_position_embeddings=96, eos_token_id=2, pad_token_id=0), shard="60KB"),
    # p2 is longer than the original 48 positions, p1 with its continuation is not
    "phi3_longrope": entry("Phi3ForCausalLM", 218,
                           dict(vocab_size=101, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                num_attention_heads=2, max_position_embeddings=96, sliding_window=20,
                                original_max_position_embeddings=48, eos_token_id=2, pad_token_id=0,
                                partial_rotary_factor=0.75,
                                rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3, 1.5, 1.7],
                                                  long_factor=[1.0, 1.3, 2.1, 3.2, 4.4, 5.0]))),
    "mixtral": entry("MixtralForCausalLM", 219,
                     dict(LLAMA, intermediate_size=24, num_local_experts=4, rope_theta=1e6)),
    "gpt_oss": entry("GptOssForCausalLM", 220,
                     dict(vocab_size=127, hidden_size=32, intermediate_size=20, num_hidden_layers=2, head_dim=12,
                          num_attention_heads=4, num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=3,
                          sliding_window=10, max_position_embeddings=128, rope_theta=150000.0,
                          rope_scaling=dict(rope_type="yarn", factor=8.0, beta_fast=32.0, beta_slow=1.0,
                                            truncate=False, original_max_position_embeddings=16)),
                     v4=dict(experts_per_token=3, swiglu_limit=7.0), dtype="bfloat16",
                     gains={"gate_up_proj$": 2.5, "down_proj$": 0.3}),  # some values reach the clamp
    "bert_classification": entry("BertForSequenceClassification", 221, dict(BERT, num_labels=3), kind="encoder"),
    "roberta": entry("RobertaForMaskedLM", 222, dict(BERT, hidden_size=32, num_attention_heads=4, type_vocab_size=1,
                                                     layer_norm_eps=1e-5), kind="encoder"),
    "roberta_classification": entry("RobertaForSequenceClassification", 223,
                                    dict(BERT, hidden_size=36, type_vocab_size=1, layer_norm_eps=1e-5, num_labels=5),
                                    kind="encoder"),
    "distilbert": entry("DistilBertForMaskedLM", 224,
                        dict(vocab_size=107, dim=36, hidden_dim=64, n_layers=2, n_heads=3,
                             max_position_embeddings=64), kind="encoder"),
    "distilbert_classification": entry("DistilBertForSequenceClassification", 225,
                                       dict(vocab_size=101, dim=32, hidden_dim=64, n_layers=2, n_heads=2,
                                            max_position_embeddings=64, num_labels=4), kind="encoder"),
    "bart": entry("BartForConditionalGeneration", 226,
                  dict(vocab_size=103, max_position_embeddings=64, d_model=32, encoder_layers=2, decoder_layers=2,
                       encoder_attention_heads=2, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=48,
                       scale_embedding=True), kind="encoder-decoder",
                  gains={"bias": 0.3, "[qk]_proj": 1.2, "fc2": 0.6, "shared": 0.5, "decoder.embed_positions": 3}),
    # d_kv times heads is not d_model
    "t5": entry("T5ForConditionalGeneration", 227,
                dict(vocab_size=101, d_model=32, d_kv=12, d_ff=48, num_layers=2, num_heads=2,
                     relative_attention_num_buckets=16, relative_attention_max_distance=40, decoder_start_token_id=0),
                gains={r"Attention\.q\.": 0.4, "shared": 3, r"(wo|\.o)\.weight": 5}, kind="encoder-decoder"),
    "t5_gated": entry("T5ForConditionalGeneration", 228,
                      dict(vocab_size=103, d_model=32, d_kv=8, d_ff=40, num_layers=2, num_heads=3,
                           feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0),
                      gains={r"Attention\.q\.": 0.4}, kind="encoder-decoder", v4=dict(tie_word_embeddings=False),
                      drop=["scale_decoder_outputs"]),
    "vit": entry("ViTForImageClassification", 229,
                 dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
                      patch_size=8, num_labels=7), kind="image"),
    "vit_rectangle": entry("ViTForImageClassification", 230,
                           dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=3, intermediate_size=64,
                                image_size=[24, 40], patch_size=[8, 4], num_channels=1, num_labels=3, qkv_bias=False),
                           kind="image"),
    "longformer": entry("LongformerForMaskedLM", 231,
                        dict(BERT, hidden_size=32, num_attention_heads=2, type_vocab_size=1, layer_norm_eps=1e-5,
                             attention_window=[8, 4]), kind="encoder"),
    "bert_tokens": entry("BertForTokenClassification", 232,
                         dict(BERT, hidden_size=32, num_attention_heads=2,
                              id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}), kind="encoder"),
    "bert_answers": entry("BertForQuestionAnswering", 233, dict(BERT, hidden_size=32, num_attention_heads=2),
                          kind="encoder"),
    "roberta_answers": entry("RobertaForQuestionAnswering", 234,
                             dict(BERT, hidden_size=32, num_attention_heads=2, type_vocab_size=1,
                                  layer_norm_eps=1e-5), kind="encoder"),
    "bert_relative_key": entry("BertForMaskedLM", 236, dict(BERT, hidden_size=32, num_attention_heads=2,
                                                            position_embedding_type="relative_key"), kind="encoder"),
    "bert_relative_key_query": entry("BertForTokenClassification", 237,
                                     dict(BERT, num_labels=3, position_embedding_type="relative_key_query"),
                                     kind="encoder"),
    "roberta_relative_key": entry("RobertaForMaskedLM", 238,
                                  dict(BERT, hidden_size=32, num_attention_heads=2, type_vocab_size=1,
                                       layer_norm_eps=1e-5, position_embedding_type="relative_key"), kind="encoder"),
    # p2 has 16 blocks, the last with one token, and is longer than (5 + 2 r) 4; the others are shorter
    "big_bird": entry("BigBirdForMaskedLM", 238, dict(BIG_BIRD, num_random_blocks=2, rescale_embeddings=True),
                      kind="encoder"),
    "big_bird_classification": entry("BigBirdForSequenceClassification", 239,
                                     dict(BIG_BIRD, num_random_blocks=1, use_bias=False, hidden_act="relu",
                                          num_labels=3), kind="encoder"),
    "big_bird_answers": entry("BigBirdForQuestionAnswering", 240, dict(BIG_BIRD, num_random_blocks=1),
                              kind="encoder"),
    "big_bird_tokens": entry("BigBirdForTokenClassification", 241,
                             dict(BIG_BIRD, attention_type="original_full", num_labels=4), kind="encoder"),
    "distilbert_tokens": entry("DistilBertForTokenClassification", 235,
                               dict(vocab_size=101, dim=32, hidden_dim=64, n_layers=2, n_heads=2,
                                    max_position_embeddings=64, num_labels=3), kind="encoder"),
    "mamba": entry("MambaForCausalLM", 236, dict(vocab_size=101, hidden_size=36, state_size=8, num_hidden_layers=3)),
    "falcon_mamba": entry("FalconMambaForCausalLM", 237,
                          dict(vocab_size=107, hidden_size=32, state_size=5, num_hidden_layers=2, conv_kernel=3,
                               expand=16, intermediate_size=96, time_step_rank=7, use_bias=True,
                               tie_word_embeddings=False)),
    # layers 1 and 4 attend, layers 1 and 3 have experts; in the other one layers 0 and 2 attend, and none has experts
    "jamba": entry("JambaForCausalLM", 238,
                   dict(JAMBA, hidden_size=32, num_hidden_layers=5, attn_layer_period=3, attn_layer_offset=1,
                        num_experts=4, mamba_dt_rank=7, mamba_proj_bias=True)),
    "jamba_tied": entry("JambaForCausalLM", 239,
                        dict(JAMBA, vocab_size=107, hidden_size=40, num_hidden_layers=3, attn_layer_period=2,
                             attn_layer_offset=0, num_experts=1, mamba_d_state=6, mamba_d_conv=3, mamba_expand=3,
                             mamba_conv_bias=False, tie_word_embeddings=True)),
    # 420 and 421 are the tokenizer's start and end
    "clip": entry("CLIPModel", 236,
                  dict(projection_dim=20,
                       text_config=dict(vocab_size=422, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                        num_attention_heads=2, max_position_embeddings=24, bos_token_id=420,
                                        eos_token_id=421, pad_token_id=421, projection_dim=20),
                       vision_config=dict(hidden_size=36, intermediate_size=44, num_hidden_layers=2,
                                          num_attention_heads=3, image_size=24, patch_size=8, projection_dim=20)),
                  kind="pair", tokenizer="clip"),
    # the decoder is wider than the encoder, and the patches are not square
    "vit_gpt2": entry("VisionEncoderDecoderModel", 237,
                      dict(encoder=dict(model_type="vit", hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                        num_attention_heads=3, image_size=[16, 24], patch_size=[4, 8]),
                           decoder=dict(model_type="gpt2", vocab_size=400, n_positions=40, n_embd=28, n_layer=2,
                                        n_head=2, add_cross_attention=True, is_decoder=True, bos_token_id=0,
                                        eos_token_id=1),
                           decoder_start_token_id=0, eos_token_id=1, pad_token_id=1),
                      kind="captions", tokenizer="llama3", gains={"wte": 0.7, "crossattention.c_proj": 2}),
}


def initialise(model, seed, gains):
    """Own initial values; norm gains around the value that means one, biases non-zero, matrices by their fan-in."""
    g = torch.Generator().manual_seed(seed)
    head = model.get_output_embeddings()
    tied = head is not None and head.weight is model.get_input_embeddings().weight
    done = set()
    for module_name, module in model.named_modules():
        kind = type(module).__name__
        for leaf, p in module.named_parameters(recurse=False):
            name = f"{module_name}.{leaf}"
            if p in done:
                continue
            done.add(p)
            x = torch.randn(p.shape, generator=g)
            if p.ndim == 0:  # CLIP's scale
                x = p + 0.1 * x
            if kind.endswith("Norm") and leaf == "weight":
                x = 0.2 * x + float(not kind.startswith("Gemma"))  # Gemma multiplies by 1 + w
            elif leaf == "A_log":  # decays of all speeds
                x = torch.arange(1, p.shape[1] + 1).log() + 0.2 * x
            elif name.endswith("dt_proj.bias"):  # steps around 0.1
                x = 0.5 * x - 2.5
            elif leaf.endswith("bias") and "relative" not in name:
                x = 0.2 * x + 0.05 * x.sign()
            elif isinstance(module, torch.nn.Embedding) or kind == "ViTEmbeddings":
                small = tied and module is model.get_input_embeddings()
                x = 2 / math.sqrt(p.shape[1]) * x if small else x
            elif p.ndim >= 2:
                experts = p.ndim == 3 and "experts" in name  # [experts, inputs, outputs] in gpt-oss
                inputs = p.shape[1 if kind.startswith("GptOss") else 2] if experts else p[0].numel()
                x = (2.0 if module is head else 1.4) / math.sqrt(inputs) * x
            for pattern, factor in gains.items():
                if re.search(pattern, name):
                    x = x * factor
            p.data = x
            assert not leaf.endswith("bias") or "relative" in name or (p != 0).all()
            assert not kind.endswith("Norm") or (p != (leaf == "weight" and not kind.startswith("Gemma"))).all()
    if hasattr(model, "final_logits_bias"):  # BART's, stored though not a parameter
        model.final_logits_bias.copy_(0.2 * torch.randn(model.final_logits_bias.shape, generator=g))


def alibi_once():
    """transformers 5.12.1 counts Falcon's alibi twice in eager attention: in the mask and in the scores. Its default,
    sdpa, and earlier releases count it once; so does this (and make() compares with sdpa)."""
    attention = transformers.models.falcon.modeling_falcon.FalconAttention
    original = attention.forward

    def forward(self, hidden_states, alibi=None, **kwargs):
        if alibi is not None and self.config._attn_implementation == "eager":
            alibi = torch.zeros_like(alibi)
        return original(self, hidden_states, alibi=alibi, **kwargs)

    attention.forward = forward


def relative(module, name):
    """transformers 5 no longer computes position_embedding_type "relative_key" and "relative_key_query" of BERT and
    RoBERTa. This is what transformers 4 did: a table of distances in each layer, and no positions in the embeddings."""
    attention, embeddings = getattr(module, name + "SelfAttention"), getattr(module, name + "Embeddings")
    made, embedded, eager = attention.__init__, embeddings.__init__, module.eager_attention_forward

    class Unused(torch.nn.Embedding):
        def forward(self, ids):
            return torch.zeros(*ids.shape, self.embedding_dim, dtype=self.weight.dtype)

    def make_attention(self, config, *args, **kwargs):
        made(self, config, *args, **kwargs)
        if is_relative(config):
            self.distance_embedding = torch.nn.Embedding(2 * config.max_position_embeddings - 1,
                                                         self.attention_head_size)

    def make_embeddings(self, config):
        embedded(self, config)
        if is_relative(config):
            self.position_embeddings = Unused(config.max_position_embeddings, config.hidden_size)

    def attend(module, query, key, value, attention_mask, scaling=None, **kwargs):
        if not is_relative(module.config):
            return eager(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
        rows, keys = torch.arange(query.shape[2])[:, None], torch.arange(key.shape[2])[None]
        table = module.distance_embedding(rows - keys + module.config.max_position_embeddings - 1)
        scores = query @ key.transpose(2, 3) + torch.einsum("bhld,lrd->bhlr", query, table)
        if module.config.position_embedding_type == "relative_key_query":
            scores = scores + torch.einsum("bhrd,lrd->bhlr", key, table)
        scores = scores / math.sqrt(query.shape[-1])
        if attention_mask is not None:
            scores = scores + attention_mask
        p = scores.softmax(-1)
        return (p @ value).transpose(1, 2).contiguous(), p

    attention.__init__, embeddings.__init__, module.eager_attention_forward = make_attention, make_embeddings, attend


def is_relative(config):
    return getattr(config, "position_embedding_type", "absolute") != "absolute"


def load(cls, folder, dtype=torch.float32, attention="eager"):
    return cls.from_pretrained(folder, dtype=dtype, attn_implementation=attention,
                               experts_implementation="eager").eval()


def config_v4(config, spec):
    """The key names that transformers 4 wrote."""
    c = {k: v for k, v in config.items() if k not in spec["drop"]}
    c["transformers_version"] = "4.44.0"
    c["torch_dtype"] = c.pop("dtype")
    if c.get("tie_word_embeddings"):
        default = getattr(transformers, spec["cls"]).config_class()
        if getattr(default, "tie_word_embeddings", False):
            del c["tie_word_embeddings"]
    rope = c.pop("rope_parameters", None)
    if rope:
        theta, partial = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
        if c["model_type"] == "gpt_neox":
            c["rotary_emb_base"], c["rotary_pct"] = theta, partial
        else:
            c["rope_theta"] = theta
            if partial is not None:
                c["partial_rotary_factor"] = partial
        c["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    c.update(spec["v4"])
    return c


def random_ids(seed, *shape, vocab):
    return torch.randint(3, vocab, shape, generator=torch.Generator().manual_seed(seed))


def decode(model, forward, ids, cache=False):
    """STEPS greedy steps for rows of ids -> (new ids, margins)."""
    tokens, margins, past, step = [], [], None, ids
    for _ in range(STEPS):
        out = forward(step if cache else ids, past) if cache else forward(ids, None)
        past = (out.cache_params if "cache_params" in out else out.past_key_values) if cache else None
        top = out.logits[:, -1].topk(2)
        tokens.append(top.indices[:, 0])
        margins.append(top.values[:, 0] - top.values[:, 1])
        step = tokens[-1][:, None]
        ids = torch.cat([ids, step], 1)
    return torch.stack(tokens, 1), torch.stack(margins, 1)


def greedy(e, prefix, model, ids, forward):
    new, margin = decode(model, forward, ids)
    assert (decode(model, forward, ids, cache=True)[0] == new).all(), "KV cache"
    e[f"{prefix}.ids"], e[f"{prefix}.margin"] = new[0], margin[0]


def good(new, margin):
    return margin.min() >= 0.05 and len(new.unique()) >= 6


def mixes_experts(model):
    return hasattr(model, "num_experts_per_tok") and model.num_experts > 1


def routing_gap(model, ids):
    """Per row of ids the smallest distance between the last expert that is taken and the first that is not."""
    if not mixes_experts(model):
        return torch.full((len(ids),), math.inf)
    out = model(input_ids=ids, use_cache=False, output_router_logits=True)
    k = model.num_experts_per_tok
    top = torch.stack(out.router_logits).topk(k + 1).values
    return (top[..., k - 1] - top[..., k]).view(-1, *ids.shape).amin((0, 2))


def find_prompt(model, seed, vocab, forward_for):
    """A prompt of 17 ids whose greedy continuation is well separated."""
    for batch in range(40):
        ids = random_ids(seed * 1000 + batch, 32, LENGTHS[1], vocab=vocab)
        forward, start = forward_for(ids)
        new, margin = decode(model, forward, start)
        for i in range(len(ids)):
            if good(new[i], margin[i]) and routing_gap(model, torch.cat([ids[i], new[i]])[None]) >= 0.02:
                return ids[i : i + 1]
    raise SystemExit("no prompt with clear margins")


def entropy(p):
    """Of attention rows with at least 8 visible keys, relative to the uniform one."""
    visible = (p > 0).sum(-1)
    h = -(p * p.clamp_min(1e-30).log()).sum(-1) / visible.clamp_min(2).log()
    h = h[visible >= 8]
    values = {"mean_entropy_over_log_n": h.mean(), "min": h.min(), "max": h.max(),
              "share_below_0.85": (h < 0.85).float().mean()}
    return {k: round(v.item(), 4) for k, v in values.items()}


def noise(cls, folder, run, reference):
    """Distance of logits computed in other types from the reference."""
    result = dict(logits_std=round(reference.std().item(), 4), logits_absmax=round(reference.abs().max().item(), 4))
    for key, dtype in dict(f64=torch.float64, f16=torch.float16, bf16=torch.bfloat16).items():
        d = run(load(cls, folder, dtype)).double() - reference.double()
        result[key] = dict(max=float(f"{d.abs().max().item():.3g}"), rms=float(f"{d.pow(2).mean().sqrt().item():.3g}"))
    return result


def decoder(model, spec, e, meta):
    vocab, seed = model.config.vocab_size, spec["seed"]
    recurrent = model.config.model_type in ("mamba", "falcon_mamba")  # no attention
    cached = lambda ids, past: model(input_ids=ids, use_cache=True,
                                     **{"cache_params" if recurrent else "past_key_values": past})
    long = random_ids(seed + 1, 256 if mixes_experts(model) else 1, LENGTHS[2], vocab=vocab)
    best = routing_gap(model, long).argmax()
    prompts = [random_ids(seed, 1, 1, vocab=vocab), find_prompt(model, seed, vocab, lambda ids: (cached, ids)),
               long[best : best + 1]]
    for i, ids in enumerate(prompts):
        options = dict(output_hidden_states=True) if i == 2 else {}
        if i == 2 and not recurrent:
            options["output_attentions"] = True
        if i == 2 and mixes_experts(model):
            options["output_router_logits"] = True
        with LastBlock(model) as last:
            out = model(input_ids=ids, use_cache=False, **options)
        e[f"p{i}.input_ids"], e[f"p{i}.logits"] = ids[0], out.logits[0]
    hidden = list(out.hidden_states)
    if hidden[-1].shape != hidden[0].shape:  # OPT projects to another width
        hidden[-1] = last.output
    if recurrent:  # there each is what leaves a block; here, as of other models, what enters it
        hidden = [model.get_input_embeddings()(ids)] + hidden[:-2] + hidden[-1:]
    e["p2.hidden"] = torch.cat(hidden)
    if not recurrent:
        e["p2.attn"] = torch.cat(out.attentions)
        meta["attention_entropy"] = {"p2.attn": entropy(e["p2.attn"])}
    e["p2.loss"] = torch.nn.functional.cross_entropy(out.logits[0, :-1], ids[0, 1:])[None]
    if "output_router_logits" in options:
        e["p2.router_logits"] = torch.stack(out.router_logits)
        meta["moe_min_gap_topk_boundary"] = round(routing_gap(model, ids).item(), 5)
    greedy(e, "greedy", model, prompts[1], cached)
    greedy(e, "greedy0", model, prompts[0], cached)
    e["greedy.prompt_ids"], e["greedy0.prompt_ids"] = prompts[1][0], prompts[0][0]
    return lambda m: m(input_ids=ids, use_cache=False).logits[0]


def encoder(model, spec, e, meta):
    c, seed = model.config, spec["seed"]
    types = getattr(c, "type_vocab_size", 1) > 1

    def inputs(ids, mask=None):
        mask = torch.ones_like(ids) if mask is None else mask
        given = dict(input_ids=ids, attention_mask=mask)
        if types:  # two segments
            given["token_type_ids"] = (torch.arange(ids.shape[1]) >= mask.sum(1, keepdim=True) // 2).long() * mask
        if c.model_type == "longformer":  # as transformers does for classification
            given["global_attention_mask"] = (torch.arange(ids.shape[1]) == 0).long().expand_as(ids)
        if spec["cls"] == "BigBirdForQuestionAnswering":  # else it lowers the logits of a question that it looks for
            given["question_lengths"] = torch.zeros(ids.shape[0], 1, dtype=torch.long)
        return given

    def run(given, part=lambda m: m):
        fresh = copy.deepcopy(model) if c.model_type == "big_bird" else model  # short texts turn its blocks off for good
        return part(fresh)(**given, output_hidden_states=True, output_attentions=True)

    def store(prefix, given, extra=()):
        for key in ("input_ids", "token_type_ids", "global_attention_mask") + extra:
            if key in given:
                e[f"{prefix}.{key}"] = given[key] if extra else given[key][0]

    for i, n in enumerate(LENGTHS):
        given = inputs(random_ids(seed + i, 1, n, vocab=c.vocab_size))
        store(f"p{i}", given)
        out = run(given)
        e[f"p{i}.logits"], e[f"p{i}.last_hidden"] = logits_of(out)[0], out.hidden_states[-1][0]
        e[f"p{i}.mean_pooled"] = out.hidden_states[-1][0].mean(0)
        words = {k: v for k, v in given.items() if k != "question_lengths"}
        pooled = getattr(run(words, lambda m: m.base_model), "pooler_output", None)
        if pooled is not None:
            e[f"p{i}.pooler_output"] = pooled[0]
    e["p2.hidden"] = torch.cat([h[:, :n] for h in out.hidden_states])  # BigBird's have padding
    dense = {"longformer": longformer_attention, "big_bird": big_bird_attention}.get(c.model_type)
    e["p2.attn"] = dense(out, c, n) if dense else torch.cat(out.attentions)
    assert (e["p2.attn"].sum(-1) - 1).abs().max() < 1e-5
    meta["attention_entropy"] = {"p2.attn": entropy(e["p2.attn"])}

    if c.model_type in ("roberta", "longformer"):  # positions do not count padding, wherever it stands
        padded = e["p1.input_ids"][None].clone()
        padded[0, [0, 3, 4, 11]] = c.pad_token_id
        store("padded", inputs(padded))
        out = model(**inputs(padded), output_hidden_states=True)
        e["padded.logits"], e["padded.last_hidden"] = logits_of(out)[0], out.hidden_states[-1][0]

    ids = torch.full((2, LENGTHS[2]), c.pad_token_id)
    for row in (0, 1):
        ids[row, : LENGTHS[row + 1]] = e[f"p{row + 1}.input_ids"]
    batch = inputs(ids, (torch.arange(ids.shape[1]) < torch.tensor(LENGTHS[1:])[:, None]).long())
    store("batch", batch, ("attention_mask",))
    last = run(batch).hidden_states[-1] * batch["attention_mask"][..., None]
    for row in (0, 1):
        single = run(inputs(ids[row : row + 1, : LENGTHS[row + 1]])).hidden_states[-1]
        if c.model_type == "big_bird":  # transformers gives a short text blocks if it is padded; here it has none
            last[row, : LENGTHS[row + 1]] = single[0]
        assert (last[row, : LENGTHS[row + 1]] - single[0]).abs().max() < 1e-4, "padding"
    e["batch.last_hidden"] = last
    return lambda m: logits_of(m(**given))[0]


def logits_of(out):
    """Of question answering [n, 2]: where an answer begins and ends."""
    return torch.stack([out.start_logits, out.end_logits], -1) if "start_logits" in out else out.logits


def big_bird_attention(out, c, n):
    """BigBird's attention as full matrices. transformers takes block 0 for every random block, but writes its weights
    once: those of the others are the same."""
    p = torch.cat(out.attentions)
    if c.attention_type == "block_sparse" and n > (5 + 2 * c.num_random_blocks) * c.block_size:
        last = (n - 1) // c.block_size * c.block_size
        p[:, :, c.block_size : last, : c.block_size] *= 1 + c.num_random_blocks
    return p[:, :, :n, :n]


def longformer_attention(out, c, n):
    """Longformer's attention as full matrices, from its band, the columns and the rows of the global tokens."""
    layers = []
    windows = c.attention_window if isinstance(c.attention_window, list) else [c.attention_window] * c.num_hidden_layers
    for band, rows, window in zip(out.attentions, out.global_attentions, windows):
        band, reach = band[0], window // 2
        p = torch.zeros(band.shape[0], n, n + 2 * reach)
        for i in range(n):
            p[:, i, i : i + 2 * reach + 1] = band[:, i, 1:]
        p = p[:, :, reach : reach + n]
        p[:, :, 0] += band[:, :, 0]
        p[:, 0] = rows[0, :, :n, 0]
        layers.append(p)
    return torch.stack(layers)


def encoder_decoder(model, spec, e, meta):
    c, seed = model.config, spec["seed"]
    first = torch.tensor([[c.decoder_start_token_id]])

    def forward_for(ids):
        encoded = model.get_encoder()(input_ids=ids)
        forward = lambda new, past: model(encoder_outputs=encoded, decoder_input_ids=new, past_key_values=past,
                                          use_cache=True)
        return forward, first.expand(len(ids), 1)

    prompts = [random_ids(seed, 1, 1, vocab=c.vocab_size), find_prompt(model, seed, c.vocab_size, forward_for),
               random_ids(seed + 1, 1, LENGTHS[2], vocab=c.vocab_size)]
    for i, m in enumerate(DECODER_LENGTHS):
        new = torch.cat([first, random_ids(seed + 2 + i, 1, m - 1, vocab=c.vocab_size)], 1)
        given = dict(input_ids=prompts[i], decoder_input_ids=new, use_cache=False)
        out = model(**given, output_hidden_states=True, output_attentions=True)
        e[f"p{i}.input_ids"], e[f"p{i}.decoder_input_ids"] = prompts[i][0], new[0]
        e[f"p{i}.logits"], e[f"p{i}.encoder_last_hidden"] = out.logits[0], out.encoder_last_hidden_state[0]
    for part, states, attentions in (("encoder", out.encoder_hidden_states, out.encoder_attentions),
                                     ("decoder", out.decoder_hidden_states, out.decoder_attentions)):
        e[f"p2.{part}_hidden"], e[f"p2.{part}_attn"] = torch.cat(states), torch.cat(attentions)
    e["p2.cross_attn"] = torch.cat(out.cross_attentions)
    meta["attention_entropy"] = {k: entropy(v) for k, v in e.items() if k.endswith("attn")}
    forward, start = forward_for(prompts[1])
    greedy(e, "greedy", model, start, forward)
    e["greedy.prompt_ids"], e["greedy.decoder_start"] = prompts[1][0], first[0]
    return lambda m: m(**given).logits[0]


def image(model, spec, e, meta):
    size = model.vit.embeddings.image_size
    pixels = torch.randn(3, model.config.num_channels, *size, generator=torch.Generator().manual_seed(spec["seed"]))
    with LastBlock(model) as last:
        out = model(pixel_values=pixels, output_hidden_states=True, output_attentions=True)
    hidden = [h[0] for h in out.hidden_states[:-1]] + [last.output[0]]
    e["pixel_values"], e["logits"] = pixels, out.logits
    e["last_hidden"] = model.vit(pixel_values=pixels).last_hidden_state
    e["i0.hidden"], e["i0.attn"] = torch.stack(hidden), torch.stack([a[0] for a in out.attentions])
    meta["attention_entropy"] = {"i0.attn": entropy(e["i0.attn"])}
    return lambda m: m(pixel_values=pixels.to(m.dtype)).logits


def random_pixels(config, count, seed):
    size = config.image_size if isinstance(config.image_size, (list, tuple)) else [config.image_size] * 2
    return torch.randn(count, config.num_channels, *size, generator=torch.Generator().manual_seed(seed))


def pair(model, spec, e, meta):
    """Two towers. The embeds are the projected vectors before they are divided by their lengths."""
    text, seed = model.config.text_config, spec["seed"]
    pixels = random_pixels(model.config.vision_config, 3, seed)
    see = dict(output_hidden_states=True, output_attentions=True)
    project = lambda ids: model.text_projection(model.text_model(input_ids=ids).pooler_output)[0]
    padded = torch.full((3, text.max_position_embeddings), text.pad_token_id)
    for i, n in enumerate((2, 9, text.max_position_embeddings)):
        words = random_ids(seed + i, 1, n - 2, vocab=text.bos_token_id)
        ids = torch.cat([torch.tensor([[text.bos_token_id]]), words, torch.tensor([[text.eos_token_id]])], 1)
        out = model.text_model(input_ids=ids, **see)
        e[f"p{i}.input_ids"], e[f"p{i}.last_hidden"] = ids[0], out.last_hidden_state[0]
        e[f"p{i}.text_embeds"] = project(ids)
        padded[i, :n] = ids[0]
    e["p2.hidden"], e["p2.attn"] = torch.cat(out.hidden_states), torch.cat(out.attentions)
    # texts without an end token: the first row, and with the end token of old configs that of the largest id
    e["endless.input_ids"] = words[0]
    e["endless.text_embeds"] = project(words)
    model.text_model.eos_token_id = 2
    e["endless.text_embeds_v4"] = project(words)
    model.text_model.eos_token_id = text.eos_token_id
    out = model.vision_model(pixel_values=pixels, **see)
    e["pixel_values"], e["last_hidden"] = pixels, out.last_hidden_state
    e["image_embeds"] = model.visual_projection(out.pooler_output)
    e["i0.hidden"] = torch.stack([h[0] for h in out.hidden_states])
    e["i0.attn"] = torch.stack([a[0] for a in out.attentions])
    run = lambda m: m(input_ids=padded, pixel_values=pixels.to(m.dtype)).logits_per_image
    e["logits_per_image"] = run(model)
    meta["attention_entropy"] = {k: entropy(e[k]) for k in ("p2.attn", "i0.attn")}
    return run


def captions(model, spec, e, meta):
    c, seed = model.config, spec["seed"]
    first = torch.tensor([[c.decoder_start_token_id]])

    def forward_for(pixels):
        encoded = model.encoder(pixel_values=pixels)
        forward = lambda new, past: model(encoder_outputs=encoded, decoder_input_ids=new, past_key_values=past,
                                          use_cache=True)
        return forward, first.expand(len(pixels), 1)

    for batch in range(40):  # an image whose greedy text is well separated
        pixels = random_pixels(c.encoder, 32, seed * 1000 + batch)
        new, margin = decode(model, *forward_for(pixels))
        fine = [i for i in range(len(pixels)) if good(new[i], margin[i])]
        if fine:
            break
    pixels = torch.cat([pixels[fine[0]][None], random_pixels(c.encoder, 2, seed)])
    for i, m in enumerate((1, 9, 14)):
        new = torch.cat([first, random_ids(seed + 2 + i, 1, m - 1, vocab=c.decoder.vocab_size)], 1)
        given = dict(decoder_input_ids=new, use_cache=False, output_hidden_states=True, output_attentions=True)
        out = model(pixel_values=pixels[i : i + 1], **given)
        e[f"p{i}.decoder_input_ids"], e[f"p{i}.logits"] = new[0], out.logits[0]
        e[f"p{i}.encoder_last_hidden"] = out.encoder_last_hidden_state[0]
    seen = out.encoder_hidden_states[:-1] + (out.encoder_last_hidden_state,)  # the last one after the norm
    for part, states, attentions in (("encoder", seen, out.encoder_attentions),
                                     ("decoder", out.decoder_hidden_states, out.decoder_attentions)):
        e[f"p2.{part}_hidden"], e[f"p2.{part}_attn"] = torch.cat(states), torch.cat(attentions)
    e["p2.cross_attn"] = torch.cat(out.cross_attentions)
    meta["attention_entropy"] = {k: entropy(v) for k, v in e.items() if k.endswith("attn")}
    forward, start = forward_for(pixels[:1])
    greedy(e, "greedy", model, start, forward)
    e["pixel_values"] = pixels
    return lambda m: m(pixel_values=pixels[2:].to(m.dtype), decoder_input_ids=new, use_cache=False).logits[0]


class LastBlock:
    """Keeps what the last block of the (last) stack of blocks returns."""

    def __init__(self, model):
        stacks = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
        depth = model.config.num_hidden_layers
        self.block = [s for s in stacks if len(s) == depth][-1][-1]

    def __enter__(self):
        def keep(module, args, out):
            self.output = out[0] if isinstance(out, tuple) else out

        self.handle = self.block.register_forward_hook(keep)
        return self

    def __exit__(self, *_):
        self.handle.remove()


def make(name):
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, name, MODELS[name])
        target = os.path.join(HERE, "models", name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    print(name, sum(os.path.getsize(os.path.join(target, f)) for f in os.listdir(target)) // 1024, "K", flush=True)


def fill(folder, name, spec):
    cls = getattr(transformers, spec["cls"])
    model = cls(cls.config_class(**spec["config"])).eval()
    if spec["config"].get("tie_word_embeddings") is False:  # transformers 5 ties every T5 that it does not load
        model.get_output_embeddings().weight = torch.nn.Parameter(model.get_input_embeddings().weight.clone())
    initialise(model, spec["seed"], spec["gains"])
    model.to(getattr(torch, spec["dtype"])).save_pretrained(folder, max_shard_size=spec["shard"])
    if model.can_generate():
        os.remove(os.path.join(folder, "generation_config.json"))
    stored, model = model.state_dict(), load(cls, folder)
    for key, p in model.state_dict().items():
        assert torch.equal(p, stored[key].float()), key

    e, meta = {}, {"name": name, "class": spec["cls"], "model_type": model.config.model_type, "kind": spec["kind"],
                   "seed": spec["seed"], "weights_dtype": spec["dtype"], "compute_dtype": "float32", "tokenizer": spec["tokenizer"],
                   "n_params": sum(p.numel() for p in set(model.parameters())),
                   "transformers": transformers.__version__, "torch": torch.__version__}
    run = KINDS[spec["kind"]](model, spec, e, meta)
    reference = run(model)
    meta["noise_p2_logits"] = noise(cls, folder, run, reference)
    if model._supports_sdpa and not getattr(model.config, "attn_logit_softcapping", None) and not is_relative(model.config):
        assert (run(load(cls, folder, attention="sdpa")) - reference).abs().max() < 1e-4, "sdpa"

    if spec["tokenizer"]:
        shutil.copy(os.path.join(HERE, "../tokenizers", spec["tokenizer"], "tokenizer.json"), folder)
    with open(os.path.join(folder, "config.json")) as f:
        v4 = config_v4(json.load(f), spec)
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        dump(v4, os.path.join(copy, "config.json"))
        assert torch.equal(run(load(cls, copy)), reference), "config.v4.json"
    dump(v4, os.path.join(folder, "config.v4.json"))
    dump(meta, os.path.join(folder, "meta.json"))
    e = {k: v.to(torch.float32 if v.is_floating_point() else torch.int32).contiguous().clone() for k, v in e.items()}
    assert all(v.isfinite().all() for v in e.values())
    save_file(e, os.path.join(folder, "expected.safetensors"))


def dump(value, path):
    with open(path, "w") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def table():
    """MODELS.md from what is in the folders."""
    rows, total = [], 0
    for name in sorted(os.listdir(os.path.join(HERE, "models"))):
        folder = os.path.join(HERE, "models", name)
        read = lambda f: json.load(open(os.path.join(folder, f)))
        size = lambda match: sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if match(f))
        meta = read("meta.json")
        if not hasattr(transformers, meta.get("class", "")):  # made by another script
            continue
        c = transformers.AutoConfig.from_pretrained(folder).get_text_config()
        shards = sum(bool(re.match(r"model.*\.safetensors$", f)) for f in os.listdir(folder))
        heads = getattr(c, "num_attention_heads", 0)  # 0: no attention
        kv = getattr(c, "num_key_value_heads", None) or getattr(c, "num_kv_heads", None) or heads
        if c.model_type == "falcon" and c.multi_query and not c.new_decoder_architecture:
            kv = 1
        width = getattr(c, "head_dim", None) or getattr(c, "d_kv", None) or c.hidden_size // max(heads, 1)
        e = load_file(os.path.join(folder, "expected.safetensors"))
        n = meta["noise_p2_logits"]
        h = "/".join(f"{v['mean_entropy_over_log_n']:.2f}" for v in meta.get("attention_entropy", {}).values()) or "-"
        margin = f"{e['greedy.margin'].min().item():.3f}" if "greedy.margin" in e else "-"
        total += size(lambda f: True)
        rows.append([name, meta["class"], meta["weights_dtype"] + (f", {shards} shards" if shards > 1 else ""),
                     meta["tokenizer"] or "-",
                     f"{c.num_hidden_layers}/{c.hidden_size}" + (f"/{heads}/{kv}/{width}" if heads else ""),
                     getattr(c, "vocab_size", "-"), meta["n_params"],
                     size(lambda f: re.match(r"model.*\.safetensors$", f)) // 1024,
                     size(lambda f: f == "expected.safetensors") // 1024, n["logits_std"], n["f64"]["max"],
                     n["f16"]["max"], n["bf16"]["max"], h, margin])
    head = ["model", "class", "weights", "tokenizer", "layers/hidden/heads/kv/head_dim", "vocab", "params", "model K",
            "expected K", "std", "noise f64", "noise f16", "noise bf16", "H/L", "margin"]
    with open(os.path.join(HERE, "MODELS.md"), "w") as f:
        f.write("# The models\n\nnoise = largest |logit(p2) - f32 logit| when torch computes everything in that type; "
                "std = std of the logits;\nH/L = mean attention entropy / log(number of visible keys), rows with >= 8 "
                "keys; margin = smallest top1-top2 gap of `greedy`.\nWritten by `make_models.py`, which makes all "
                "folders without a tokenizer.\n\n")
        for row in [head, ["---"] * len(head)] + rows:
            f.write("| " + " | ".join(map(str, row)) + " |\n")
        f.write(f"\nSum of the model folders: {total // 1024} K.\n")


KINDS = {"decoder": decoder, "encoder": encoder, "encoder-decoder": encoder_decoder, "image": image, "pair": pair,
         "captions": captions}

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    alibi_once()
    relative(transformers.models.bert.modeling_bert, "Bert")
    relative(transformers.models.roberta.modeling_roberta, "Roberta")
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if "--table" not in sys.argv:
        for name in sys.argv[1:] or MODELS:
            make(name)
    table()
