"""The ops that are compared, as `vantage bench ops` names them, and what each does: operations, or for those that memory bounds
bytes. Attention counts the whole square, causal or not, so that the gain of a mask shows."""
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
