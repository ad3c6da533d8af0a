"""The compared ops with their names in `vantage bench ops`, and their work: operations, or bytes for memory-bound ops.
Attention counts the full square, also with a causal mask, so that the gain by the mask is visible."""
N, D, HEADS = 1024, 128, 8
WORK = {
    "matmul 512^3": 2 * 512 ** 3,
    "matmul 1024^3": 2 * 1024 ** 3,
    "matmul matvec 4096^2": 4 * 4096 ** 2,
    "attention 8 heads d128 n1024": 4 * HEADS * D * N ** 2,
    "attention 8 heads d128 n1024 causal": 4 * HEADS * D * N ** 2,
    "layer_norm 1024x4096": 2 * 4 * 1024 * 4096,
    "rms_norm 1024x4096": 2 * 4 * 1024 * 4096,
    "add 4096x1024": 3 * 4 * 1024 * 4096,
    "softmax 8x1024x1024": 2 * 4 * 8 * 1024 ** 2,
}
OPS = sorted({name.split()[0] for name in WORK})
