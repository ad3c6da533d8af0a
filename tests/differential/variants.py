"""Random configurations of every architecture, small, with the options that change the results.

Each function draws the keyword arguments of a transformers config; `Variant` says what else makes a folder.
"""

import argparse
import dataclasses
import random
import shutil
import sys
import tempfile

ROPE_TYPES = ("default", "linear", "dynamic", "llama3", "yarn", "longrope")


@dataclasses.dataclass
class Variant:
    cls: str
    config: dict
    v4: dict = dataclasses.field(default_factory=dict)  # keys to add to the older config.json
    drop: tuple = ()  # keys to leave out of it


class Draw(random.Random):
    def flag(self, probability=0.5):
        return self.random() < probability

    def heads(self, even=True, widest=240):
        """Head width and count."""
        width = self.choice([12, 24, 80, 12, 24, 80, 16, 8, 20, 64, 128] + ([] if even else [7, 17, 33]))
        return width, self.randint(1, max(1, min(6, widest // width)))

    def divisor(self, n):
        return self.choice([k for k in range(1, n + 1) if n % k == 0])

    def vocab(self):
        return self.choice([997, 997, 131, 64])

    def act(self, default):
        return self.choice([default, default, "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "silu", "relu", "relu2",
                            "tanh", "sigmoid", "gelu_python", "gelu_accurate"])

    def eps(self):
        return self.choice([1e-5, 1e-6, 1e-12, 1e-3])

    def theta(self):
        return self.choice([10000.0, 500.0, 500000.0, 1000000.0])

    def windows(self, layers):
        return dict(layer_types=[self.choice(["sliding_attention", "full_attention"]) for _ in range(layers)])

    def rope(self, width, context, types=ROPE_TYPES, share=None):
        """rope_parameters for heads of this width, with full or partial rotation."""
        p = dict(rope_type=self.choice(types), rope_theta=self.theta())
        if share is not None:
            p["partial_rotary_factor"] = share
        kind, pairs = p["rope_type"], int(width * (share or 1)) // 2
        if kind in ("linear", "dynamic"):
            p["factor"] = self.choice([2.0, 2.5, 8.0])
        if kind == "llama3":
            p |= dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=self.choice([2.0, 4.0]), original_max_position_embeddings=context // 4)
        if kind == "yarn":
            p |= dict(factor=self.choice([4.0, 8.0]), original_max_position_embeddings=context // 4)
            p |= self.choice([{}, dict(beta_fast=16.0, beta_slow=2.0), dict(attention_factor=1.25), dict(truncate=False),
                              dict(mscale=1.0, mscale_all_dim=0.5)])
        if kind == "longrope":
            p |= dict(short_factor=[round(1 + 0.5 * self.random(), 3) for _ in range(pairs)],
                      long_factor=[round(1 + 4 * self.random(), 3) for _ in range(pairs)], original_max_position_embeddings=context // 3)
            p |= self.choice([{}, dict(factor=4.0), dict(attention_factor=1.5)])
        return dict(rope_parameters=p)


def gpt2(r):
    width, heads = r.heads(even=False)
    return Variant("GPT2LMHeadModel", dict(
        vocab_size=r.vocab(), n_positions=r.choice([40, 80, 128]), n_embd=width * heads, n_layer=r.randint(1, 3), n_head=heads,
        n_inner=r.choice([None, 37, 96]), activation_function=r.act("gelu_new"), layer_norm_epsilon=r.eps(), scale_attn_weights=r.flag(0.8),
        scale_attn_by_inverse_layer_idx=r.flag(0.3), tie_word_embeddings=r.flag(0.7)))


def gptj(r):
    width, heads = r.heads()
    return Variant("GPTJForCausalLM", dict(
        vocab_size=r.vocab(), n_positions=r.choice([40, 96]), n_embd=width * heads, n_layer=r.randint(1, 3), n_head=heads,
        n_inner=r.choice([None, 37, 96]), rotary_dim=2 * r.randint(1, width // 2), activation_function=r.act("gelu_new"),
        layer_norm_epsilon=r.eps(), tie_word_embeddings=r.flag(0.3)))


def gpt_neox(r):
    width, heads = r.heads()
    context = r.choice([48, 96])
    share = r.choice([0.25, 0.25, 0.5, 1.0, 0.75])
    types = ROPE_TYPES[:4] if int(width * share) % 2 else ROPE_TYPES
    return Variant("GPTNeoXForCausalLM", dict(
        vocab_size=r.vocab(), hidden_size=width * heads, intermediate_size=r.choice([37, 96]), num_hidden_layers=r.randint(1, 3),
        num_attention_heads=heads, max_position_embeddings=context, use_parallel_residual=r.flag(), attention_bias=r.flag(0.7),
        hidden_act=r.act("gelu"), layer_norm_eps=r.eps(), tie_word_embeddings=r.flag(0.3), **r.rope(width, context, types, share)))


def opt(r):
    width, heads = r.heads(even=False)
    hidden = width * heads
    return Variant("OPTForCausalLM", dict(
        vocab_size=r.vocab(), hidden_size=hidden, ffn_dim=r.choice([37, 96]), num_hidden_layers=r.randint(1, 3), num_attention_heads=heads,
        max_position_embeddings=r.choice([40, 96]), word_embed_proj_dim=r.choice([None, 20, 2 * hidden]), do_layer_norm_before=r.flag(0.7),
        _remove_final_layer_norm=r.flag(0.2), enable_bias=r.flag(0.7), layer_norm_elementwise_affine=r.flag(0.7),
        activation_function=r.act("relu"), tie_word_embeddings=r.flag(0.7)))


def bloom(r):
    width, heads = r.heads(even=False)
    return Variant("BloomForCausalLM", dict(
        vocab_size=r.vocab(), hidden_size=width * heads, n_layer=r.randint(1, 3), n_head=heads, layer_norm_epsilon=r.eps(),
        apply_residual_connection_post_layernorm=r.flag(), tie_word_embeddings=r.flag(0.7)))


def falcon(r):
    width, heads = r.heads()
    context, alibi, new = r.choice([48, 96]), r.flag(0.4), r.flag(0.4)
    c = dict(vocab_size=r.vocab(), hidden_size=width * heads, num_hidden_layers=r.randint(1, 3), num_attention_heads=heads, alibi=alibi,
             ffn_hidden_size=r.choice([None, 37, 96]), new_decoder_architecture=new, multi_query=r.flag(), bias=r.flag(),
             activation=r.act("gelu"), max_position_embeddings=context, layer_norm_epsilon=r.eps(), tie_word_embeddings=r.flag(0.7))
    if new:
        c |= dict(num_kv_heads=r.divisor(heads), num_ln_in_parallel_attn=r.choice([None, 1, 2]))
    else:
        c |= dict(parallel_attn=r.flag())
    return Variant("FalconForCausalLM", c | (r.rope(width, context) if not alibi else {}))


def phi(r):
    width, heads = r.heads()
    context = r.choice([48, 96])
    share = r.choice([share for share in (0.5, 0.25, 1.0, 0.4) if int(width * share) % 2 == 0])
    return Variant("PhiForCausalLM", dict(
        vocab_size=r.vocab(), hidden_size=width * heads, intermediate_size=r.choice([37, 96]), num_hidden_layers=r.randint(1, 3),
        num_attention_heads=heads, num_key_value_heads=r.choice([None, r.divisor(heads)]), max_position_embeddings=context,
        qk_layernorm=r.flag(0.4), hidden_act=r.act("gelu_new"), layer_norm_eps=r.eps(), tie_word_embeddings=r.flag(0.3),
        partial_rotary_factor=share, **r.rope(width, context, ROPE_TYPES, share)))


def llama_sizes(r, widest=240, apart=True):
    """Sizes shared by the models derived from Llama; the width may differ from heads times head width."""
    width, heads = r.heads(widest=widest)
    context = r.choice([48, 96])
    c = dict(vocab_size=r.vocab(), hidden_size=width * heads, intermediate_size=r.choice([37, 96]), num_hidden_layers=r.randint(1, 3),
             num_attention_heads=heads, num_key_value_heads=r.divisor(heads), max_position_embeddings=context, rms_norm_eps=r.eps(),
             hidden_act=r.act("silu"), tie_word_embeddings=r.flag(0.4))
    if apart and r.flag():
        c |= dict(hidden_size=heads * r.choice([10, 16, 25]), head_dim=width)
    return c, width, context


def phi3(r):
    c, width, context = llama_sizes(r, apart=False)
    share = r.choice([1.0, 0.75])
    types = ("default",) if int(width * share) % 2 else ("default", "longrope")
    rope = r.rope(width, context, types, share)
    original = rope["rope_parameters"].get("original_max_position_embeddings", context)
    if r.flag(0.3) and rope["rope_parameters"]["rope_type"] == "longrope":
        rope["rope_parameters"]["rope_type"] = r.choice(["su", "yarn"])  # its older names
    return Variant("Phi3ForCausalLM", c | dict(original_max_position_embeddings=original, sliding_window=r.choice([None, 9, 200]),
                                               pad_token_id=0, eos_token_id=2, **rope))


def llama(r):
    c, width, context = llama_sizes(r)
    return Variant("LlamaForCausalLM", c | dict(attention_bias=r.flag(0.3), mlp_bias=r.flag(0.3), **r.rope(width, context)))


def mistral(r):
    c, width, context = llama_sizes(r)
    return Variant("MistralForCausalLM", c | dict(sliding_window=r.choice([None, 1, 7, 13, 500]), **r.rope(width, context)))


def mixtral(r):
    c, width, context = llama_sizes(r)
    experts = r.randint(1, 6)
    return Variant("MixtralForCausalLM", dict(head_dim=width) | c | dict(
        sliding_window=r.choice([None, 7]), num_local_experts=experts, num_experts_per_tok=r.randint(1, min(4, experts)),
        **r.rope(width, context)))


def jamba(r):
    c, width, _ = llama_sizes(r, apart=False)
    layers, experts = r.randint(1, 6), r.choice([1, 2, 3, 5])
    attention, mixtures = r.randint(1, 4), r.randint(1, 3)
    return Variant("JambaForCausalLM", c | dict(
        num_hidden_layers=layers, attn_layer_period=attention, attn_layer_offset=r.randrange(attention), expert_layer_period=mixtures,
        expert_layer_offset=r.randrange(mixtures), num_experts=experts, num_experts_per_tok=r.randint(1, min(3, experts)),
        mamba_d_state=r.choice([1, 5, 16, 20]), mamba_d_conv=r.choice([2, 4, 7]), mamba_expand=r.choice([1, 2, 3]),
        mamba_dt_rank=r.choice(["auto", 1, 7]), mamba_conv_bias=r.flag(), mamba_proj_bias=r.flag(), use_mamba_kernels=False))


def qwen_windows(r, layers):
    use = r.flag(0.6)
    c = dict(use_sliding_window=use, sliding_window=r.choice([5, 16]), max_window_layers=r.randint(0, layers))
    return c | (r.windows(layers) if use and r.flag(0.3) else {})


def qwen2(r):
    c, width, context = llama_sizes(r)
    c |= qwen_windows(r, c["num_hidden_layers"])
    return Variant("Qwen2ForCausalLM", c | r.rope(width, context), drop=() if "layer_types" in c else ("layer_types",))


def qwen3(r):
    c, width, context = llama_sizes(r)
    c |= dict(attention_bias=r.flag(0.3), head_dim=width) | qwen_windows(r, c["num_hidden_layers"])
    return Variant("Qwen3ForCausalLM", c | r.rope(width, context), drop=() if "layer_types" in c else ("layer_types",))


def gemma2(r):
    c, width, context = llama_sizes(r)
    act = c.pop("hidden_act")
    c |= dict(head_dim=width, hidden_activation=act, query_pre_attn_scalar=r.choice([width, 20, 144]), sliding_window=r.choice([3, 9, 300]),
              attn_logit_softcapping=r.choice([None, 5.0, 50.0]), final_logit_softcapping=r.choice([None, 3.0, 30.0]),
              attention_bias=r.flag(0.3))
    own = r.flag(0.3)
    c |= r.windows(c["num_hidden_layers"]) if own else {}
    return Variant("Gemma2ForCausalLM", c | r.rope(width, context), drop=() if own else ("layer_types",))


def gpt_oss(r):
    c, width, context = llama_sizes(r)
    experts = r.randint(2, 6)
    del c["hidden_act"]
    c |= dict(head_dim=width, num_local_experts=experts, num_experts_per_tok=r.randint(1, min(4, experts)), sliding_window=r.choice([1, 6, 128]),
              attention_bias=r.flag(0.8))
    c |= r.windows(c["num_hidden_layers"]) if r.flag(0.3) else {}
    return Variant("GptOssForCausalLM", c | (r.rope(width, context) if r.flag(0.8) else {}))


def bert_sizes(r):
    width, heads = r.heads(even=False)
    return dict(vocab_size=r.vocab(), hidden_size=width * heads, intermediate_size=r.choice([37, 96]), num_hidden_layers=r.randint(1, 3),
                num_attention_heads=heads, max_position_embeddings=r.choice([48, 80]), hidden_act=r.act("gelu"), layer_norm_eps=r.eps(),
                type_vocab_size=r.choice([1, 2, 3]))


def answering(r, c, classes):
    cls = r.choice(classes)
    if cls.endswith("Classification"):
        c |= dict(num_labels=r.choice([1, 2, 3, 7]))
    elif not cls.endswith("Model"):
        c |= dict(tie_word_embeddings=r.flag(0.7))
    return Variant(cls, c)


def bert(r):
    return answering(r, bert_sizes(r), ["BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification"])


def roberta(r):
    c = bert_sizes(r) | dict(pad_token_id=r.choice([0, 1, 2]))
    return answering(r, c, ["RobertaModel", "RobertaForMaskedLM", "RobertaForSequenceClassification"])


def distilbert(r):
    width, heads = r.heads(even=False)
    c = dict(vocab_size=r.vocab(), dim=width * heads, hidden_dim=r.choice([37, 96]), n_layers=r.randint(1, 3), n_heads=heads,
             max_position_embeddings=r.choice([48, 80]), activation=r.act("gelu"), sinusoidal_pos_embds=r.flag(0.3))
    return answering(r, c, ["DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification"])


def longformer(r):
    c = bert_sizes(r) | dict(pad_token_id=1)
    c["attention_window"] = r.choice([4, 10, [r.choice([4, 8]) for _ in range(c["num_hidden_layers"])]])
    return answering(r, c, ["LongformerModel", "LongformerForMaskedLM", "LongformerForSequenceClassification"])


def big_bird(r):
    c = bert_sizes(r) | dict(block_size=r.choice([1, 2, 4]), num_random_blocks=r.choice([1, 2, 3]), use_bias=r.flag(0.7),
                             rescale_embeddings=r.flag(), attention_type=r.choice(["block_sparse"] * 3 + ["original_full"]))
    return answering(r, c, ["BigBirdModel", "BigBirdForMaskedLM", "BigBirdForPreTraining", "BigBirdForSequenceClassification"])


def bart(r):
    width, heads = r.heads(even=False)
    hidden = width * heads
    return Variant("BartForConditionalGeneration", dict(
        vocab_size=r.vocab(), d_model=hidden, max_position_embeddings=r.choice([48, 80]), encoder_layers=r.randint(1, 3),
        decoder_layers=r.randint(1, 3), encoder_attention_heads=r.choice([h for h in range(1, 9) if hidden % h == 0 and hidden // h <= 256]),
        decoder_attention_heads=heads, encoder_ffn_dim=r.choice([37, 96]), decoder_ffn_dim=r.choice([40, 51]),
        activation_function=r.act("gelu"), scale_embedding=r.flag(), tie_word_embeddings=r.flag(0.7)))


def t5(r):
    width, heads = r.heads(even=False)
    tied = r.flag(0.5)
    c = dict(vocab_size=r.vocab(), d_model=r.choice([20, 32, 51]), d_kv=width, d_ff=r.choice([37, 96]), num_layers=r.randint(1, 3),
             num_decoder_layers=r.choice([None, 1, 2]), num_heads=heads, relative_attention_num_buckets=r.choice([8, 16, 32]),
             relative_attention_max_distance=r.choice([17, 40, 128]), layer_norm_epsilon=r.eps(), decoder_start_token_id=r.choice([0, 3]),
             feed_forward_proj=r.choice(["relu", "gated-gelu", "gated-silu", "gelu", "gated-relu", "gated-gelu_new"]))
    c |= {} if tied else dict(tie_word_embeddings=False)
    return Variant("T5ForConditionalGeneration", c, v4={} if tied else dict(tie_word_embeddings=False), drop=("scale_decoder_outputs",))


def vit(r):
    width, heads = r.heads(even=False)
    patch = r.choice([4, 8, [8, 4], [5, 3]])
    high, wide = patch if isinstance(patch, list) else (patch, patch)
    size = [high * r.randint(1, 5), wide * r.randint(1, 5)] if r.flag() or isinstance(patch, list) else patch * r.randint(1, 5)
    cls = r.choice(["ViTForImageClassification", "ViTForImageClassification", "ViTModel"])
    c = dict(hidden_size=width * heads, num_hidden_layers=r.randint(1, 3), num_attention_heads=heads, intermediate_size=r.choice([37, 96]),
             image_size=size, patch_size=patch, num_channels=r.choice([1, 3, 4]), qkv_bias=r.flag(0.7), hidden_act=r.act("gelu"),
             layer_norm_eps=r.eps())
    c |= dict(pooler_output_size=r.choice([None, 11])) if cls == "ViTModel" else dict(num_labels=r.choice([1, 2, 7]))
    return Variant(cls, c)


ARCHITECTURES = dict(gpt2=gpt2, gptj=gptj, gpt_neox=gpt_neox, opt=opt, bloom=bloom, falcon=falcon, phi=phi, phi3=phi3, llama=llama,
                     mistral=mistral, mixtral=mixtral, jamba=jamba, qwen2=qwen2, qwen3=qwen3, gemma2=gemma2, gpt_oss=gpt_oss,
                     bert=bert, roberta=roberta, distilbert=distilbert, longformer=longformer, big_bird=big_bird, bart=bart,
                     t5=t5, vit=vit)


def run_variants(description, architectures, count, check):
    """The command line of a script: calls check(architecture, number, folder) for each variant, and exits."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=list(architectures))
    parser.add_argument("--first", type=int, default=0, help="number of the first variant")
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--keep", help="where to leave the last variant's folder")
    o = parser.parse_args()
    failed = []
    for name in o.architectures:
        for number in range(o.first, o.first + o.count):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    agrees = check(name, number, folder)
                except Exception as error:  # in transformers: continue with the next variant
                    agrees = False
                    print(f"{name} {number}: {type(error).__name__}: {error}", flush=True)
                if not agrees:
                    failed.append(f"{name} {number}")
                if o.keep:
                    shutil.copytree(folder, o.keep, dirs_exist_ok=True)
    print(f"{len(failed)} differ: {', '.join(failed)}" if failed else "all agree")
    sys.exit(bool(failed))
