# Every SPIR-V module of the program, one row each:
#   vantage_shader(NAME name SOURCE file.comp [DEFINES MACRO=value …] [PROBE name])
# NAME is what find_spirv() and the ops ask for; SOURCE is relative to shaders/; PROBE names the optional GLSL extension
# (see probe/probes.cmake) without which the row is left out.
vantage_shader(NAME matmul_plain SOURCE matmul/plain.comp)
vantage_shader(NAME matmul_tiled SOURCE matmul/tiled.comp)
vantage_shader(NAME matmul_rows SOURCE matmul/rows.comp)
vantage_shader(NAME matmul_rows_subgroup SOURCE matmul/rows.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME attention SOURCE attention/flash.comp)
vantage_shader(NAME attention_subgroup SOURCE attention/flash.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME attention_join SOURCE attention/join.comp)
vantage_shader(NAME attention_weights SOURCE attention/weights.comp)
vantage_shader(NAME additive_scores_plain SOURCE additive_scores/plain.comp)
vantage_shader(NAME additive_scores_tiled SOURCE additive_scores/tiled.comp)
vantage_shader(NAME linear_attention_sums SOURCE linear_attention/sums.comp)
vantage_shader(NAME linear_attention_scan SOURCE linear_attention/scan.comp)
vantage_shader(NAME linear_attention_rows SOURCE linear_attention/rows.comp)
vantage_shader(NAME linear_attention_rows_subgroup SOURCE linear_attention/rows.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)

# experts
vantage_shader(NAME route SOURCE experts/route.comp)
vantage_shader(NAME route_subgroup SOURCE experts/route.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME sort_by_expert SOURCE experts/sort.comp)
vantage_shader(NAME expert_linear SOURCE experts/plain.comp)
vantage_shader(NAME expert_linear_tiled SOURCE experts/tiled.comp)
vantage_shader(NAME expert_linear_rows SOURCE experts/rows.comp)
vantage_shader(NAME expert_linear_rows_subgroup SOURCE experts/rows.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME load_balance SOURCE experts/balance.comp)
vantage_shader(NAME load_balance_subgroup SOURCE experts/balance.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)

# norms, softmax
vantage_shader(NAME layer_norm SOURCE layer_norm.comp)
vantage_shader(NAME layer_norm_subgroup SOURCE layer_norm.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME rms_norm SOURCE rms_norm.comp)
vantage_shader(NAME rms_norm_subgroup SOURCE rms_norm.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME batch_norm SOURCE batch_norm.comp)
vantage_shader(NAME batch_norm_subgroup SOURCE batch_norm.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME entropy SOURCE entropy.comp)
vantage_shader(NAME entropy_subgroup SOURCE entropy.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME softmax SOURCE softmax.comp)
vantage_shader(NAME softmax_subgroup SOURCE softmax.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)

# element by element, heads
vantage_shader(NAME elementwise SOURCE elementwise.comp)
vantage_shader(NAME activation SOURCE activation.comp)
vantage_shader(NAME swiglu SOURCE swiglu.comp)
vantage_shader(NAME swap_axes SOURCE swap_axes.comp)
vantage_shader(NAME split_qkv SOURCE split_qkv.comp)
vantage_shader(NAME grid SOURCE grid.comp)
vantage_shader(NAME patches SOURCE patches.comp)

# tests of the device layer
vantage_shader(NAME selftest SOURCE selftest.comp)

# tokens, positions, states, sampling
vantage_shader(NAME embedding SOURCE embedding.comp)
vantage_shader(NAME rope SOURCE rope.comp)
vantage_shader(NAME begin_step SOURCE begin_step.comp)
vantage_shader(NAME write SOURCE write.comp)
vantage_shader(NAME last_row SOURCE last_row.comp)
vantage_shader(NAME mark_seen SOURCE mark_seen.comp)
vantage_shader(NAME argmax SOURCE argmax.comp)
vantage_shader(NAME argmax_subgroup SOURCE argmax.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME repetition_penalty SOURCE repetition_penalty.comp)
vantage_shader(NAME sampling_probs SOURCE sampling_probs.comp)
vantage_shader(NAME sampling_probs_subgroup SOURCE sampling_probs.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
vantage_shader(NAME sample SOURCE sample.comp)
vantage_shader(NAME sample_subgroup SOURCE sample.comp DEFINES USE_SUBGROUP=1 PROBE subgroup)
