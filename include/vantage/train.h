// Training: a model learns from texts, labels, answers or images on the device.
//
//     Dataset data({"corpus.txt"}, tokenizer, {.context = 256});
//     const TrainOptions options{.steps = 1000, .rate = {.rate = 3e-4, .warmup = 50}};
//     Trainer trainer = Trainer::from_folder(device, "gpt2", data, options);
//     while (const auto step = trainer.next()) std::cout << step->step << ' ' << step->loss << '\n';
//     trainer.save("out");
//
// Threads: a Trainer may be used by one thread at a time, a Dataset by several. next(), evaluate() and save() block
// until the device is done with what they need.
// Errors: as said below.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vantage/lora.h"
#include "vantage/model.h"
#include "vantage/ops.h"
#include "vantage/optimizer.h"
#include "vantage/session.h"
#include "vantage/tokenizer.h"

namespace vantage {

namespace internal {
class TrainingData;
struct TrainerState;
}  // namespace internal

struct DatasetOptions {
    std::int64_t context = 0;  ///< tokens of a sequence, of source and target each; an image classifier has its own
    /// Folder or config.json of the model to train. It decides what the files contain: texts, of which decoders learn
    /// the next token and encoders masked tokens, or examples with labels, answers or images (docs/training.md). Empty:
    /// a decoder.
    std::string model = {};
    /// Names of the labels of a new output layer, which an encoder gets in place of its own, initialised from
    /// TrainOptions::seed. Empty: the labels of config.json.
    std::vector<std::string> labels = {};
    /// Returns the pixels of an image file as Session::set_image takes them. Required for data with images.
    std::function<std::vector<float>(const std::string& file)> read_image = {};
    /// Files of the validation data. Empty: validation_share of all documents or examples. These are chosen by a hash
    /// of their tokens, or of their line, so that the choice stays the same when files grow.
    std::vector<std::string> validation_files = {};
    double validation_share = 0.01;
    bool blank_lines = false;  ///< documents of texts are separated by blank lines, not by <|endoftext|>
    /// Documents in one sequence are independent: a token attends only to its own document, positions begin at 0 in
    /// each, and the last token of a document does not predict the first of the next one. Not for layers that carry a
    /// state from token to token (Mamba, recurrent layers) and Longformer: a Trainer throws unsupported. Not for models
    /// that learn labels, answers or pairs: throws usage.
    bool separate_documents = false;
    bool strict = false;  ///< a line of a .jsonl that cannot be read is an error; default: it is skipped
    /// A model folder whose chat template turns the "messages" of a .jsonl into text.
    std::string chat_folder = {};
    std::int64_t vocabulary = 0;  ///< without a tokenizer: token ids are below this number
    /// Ends each document. Absent: the tokenizer's, as <|endoftext|> or </s>.
    std::optional<std::int32_t> end_token = {};
    /// Folder for the tokens of texts, which later runs with the same files read again. Empty: the cache
    /// (VANTAGE_CACHE_DIR).
    std::string folder = {};
    /// Called with a file and the share of it that has been read.
    std::function<void(const std::string& file, double share)> progress = {};
};

/// Training and validation data, of texts or of examples (docs/training.md). Texts are token sequences on disk, read
/// from text files, .jsonl, .bin of llm.c and nanoGPT, or .safetensors. A sequence has `context` tokens and one more,
/// the last target. It begins with a document, in half of all cases with the end token before it (not with
/// separate_documents), or inside a long document at a multiple of `context`, and continues into the next documents.
/// Examples are lines of .jsonl files, one sequence each: texts or images with labels or answers. The sequences of a
/// step depend only on the seed and the step.
///
/// Threads: any. Copies share the data.
class Dataset {
public:
    /// Throws bad_file with file and line for what cannot be read, usage if there is less than one sequence,
    /// unsupported for a model that cannot be trained.
    Dataset(const std::vector<std::string>& files, const Tokenizer& tokenizer, const DatasetOptions& options);
    /// Without a tokenizer: of files with token ids, or of labelled images.
    Dataset(const std::vector<std::string>& files, const DatasetOptions& options);
    Dataset(const Dataset&) = default;  // moves copy, too
    Dataset& operator=(const Dataset&) = default;

    std::int64_t context() const;
    std::int64_t documents() const;
    std::int64_t tokens() const;
    std::int64_t targets() const;  ///< tokens that a model learns to predict
    std::int64_t skipped() const;  ///< lines that could not be read
    std::int64_t validation_tokens() const;
    std::int64_t sequences() const;  ///< of an epoch, which together have as many tokens as the data
    std::int64_t validation_sequences() const;
    const std::string& description() const;  ///< the files, for messages

private:
    friend struct internal::TrainerState;
    friend class Trainer;
    std::shared_ptr<const internal::TrainingData> data_;
};

/// Arguments of TrainOptions::loss for a micro-batch. A row is a position of a sequence; for labels it is a whole
/// sequence.
struct LossInputs {
    Tensor logits = {};          ///< f32 [rows, classes]
    Tensor targets = {};         ///< i32 [rows], negative where a row has none
    Tensor cross_entropy = {};   ///< f32 [rows], with label smoothing and z-loss; 0 where a row has no target
    Tensor weights = {};         ///< f32 [rows], all 1 / number of targets of the step
    std::int64_t sequences = 0;  ///< of the micro-batch, each with rows / sequences rows
};

struct TrainOptions {
    std::int64_t steps = 1000;
    std::int64_t sequences = 8;   ///< of a micro-batch
    std::int64_t accumulate = 1;  ///< micro-batches of a step, whose gradients are added up
    RateOptions rate = {.schedule = RateSchedule::cosine, .rate = 3e-4};
    Optimizer optimizer = Optimizer::adamw;
    double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;  ///< of Adam and AdamW
    double momentum = 0;                           ///< of SGD
    bool nesterov = false;
    double weight_decay = 0.1;  ///< of parameters with two dimensions or more
    double max_norm = 1;        ///< gradients are clipped to this total norm; 0: no clipping
    double label_smoothing = 0, z_loss = 0;
    /// Custom loss of a micro-batch, f32 [1], made of nodes that have a gradient. Default: Σ weights · cross_entropy.
    /// The loss of a step is the sum over its micro-batches. With a custom loss the logits of all rows are in memory at
    /// once. Evaluation uses the cross-entropy. A checkpoint does not have the function: pass it again to resume. Not
    /// for pairs (CLIP). Example: examples/cpp/own_loss.cpp.
    std::function<Tensor(const LossInputs&)> loss = {};
    /// Mixture of experts: factor of the auxiliary loss for uneven routing, as in transformers: load_balance (ops.h)
    /// over the rows of all layers, averaged over the micro-batches. Absent: router_aux_loss_coef if config.json has
    /// "output_router_logits": true, else 0. Evaluation does not use it.
    std::optional<double> load_balance = {};
    /// Share of features that are set to 0 in the output of each sublayer before its residual sum, and in the input of
    /// the first block (Vaswani et al. 2017); of recurrent models in the input of each layer. Not in evaluation.
    double dropout = 0;
    double attention_dropout = 0;            ///< share of attention weights that are set to 0; not in evaluation
    std::uint64_t seed = 0;                  ///< of initial weights, of the order of the data and of dropout
    std::int64_t validation_sequences = 64;  ///< of an evaluation, at most
    /// Batches to skip: step s reads batch s + skipped_batches. For resuming a diverged run from an earlier checkpoint
    /// without the batches that followed it. On resume the larger of this and the checkpoint's number is used.
    std::int64_t skipped_batches = 0;
    /// Every step reads the first batch. The loss must come near 0: a check of model, data and settings.
    bool overfit = false;
    /// On resume: allow other data and another seed than the checkpoint's. The result then differs from that of an
    /// uninterrupted run.
    bool other_data = false;
    /// After each multiple of this number of steps, next() returns that step before it submits another one. There
    /// evaluate(), sample() and save() see the model after exactly that many steps. 0: never.
    std::int64_t pause_every = 0;
    /// On Ctrl-C next() throws at once, instead of after the submitted steps. The trainer must not be used afterwards.
    /// For measurements, which save no model.
    bool give_up = false;
    /// f32, or mixed precision f16: matrix units, if the device has them, multiply operands rounded to f16. Sums,
    /// parameters, activations and all else stay f32. The loss is scaled so that small gradients do not vanish
    /// (Micikevicius et al. 2018).
    Precision precision = Precision::f32;
    /// With f16: a constant loss scale from 1 to 2^24. 0: a dynamic one, which begins at 65536, is halved after a step
    /// whose gradients are not finite, and doubled after 2000 steps in a row whose gradients are.
    double loss_scale = 0;
    /// Device memory in bytes that a step may take, not counting weights that are not trained. 0: 90 % of what is
    /// available.
    std::uint64_t memory = 0;
    /// Activation checkpointing (Chen et al. 2016): what the backward pass recomputes instead of keeping. 0: nothing.
    /// 1: cheap activations, such as those of norms and activation functions. 1 + k: also all activations of the first
    /// k blocks but their inputs. -1: the lowest number with which a step fits into `memory`.
    /// With `divide`: the highest, where micro-batches of fewer than 1024 tokens are needed.
    std::int64_t recompute = -1;
    /// Where a step does not fit into `memory`, divide it into more micro-batches, which gives the same gradients up to
    /// the order of sums (docs/training.md). Not done where the loss depends on what a micro-batch has: of pairs,
    /// with load_balance and with a custom loss. On resume the micro-batches are those of the checkpoint.
    bool divide = false;
    bool profile = false;  ///< times every dispatch (take_timings)
    /// CompileOptions::submission_seconds. Short submissions let a window draw on the same device in between.
    double submission_seconds = 0.1;
    /// LoRA: the weights of a model folder are frozen, and new adapters beside its linear layers are trained. Adapters
    /// that come from a folder have their own options. With these, too, rank and factor must be the same, and the
    /// dropout is that of these.
    std::optional<LoraOptions> lora = {};
    /// With adapters: how the frozen matrices are stored (LoadOptions::weights).
    std::optional<DType> weights = {};
};

/// What a step did.
struct TrainRecord {
    std::int64_t step = 0;  ///< from 0
    double loss = 0;        ///< mean over the step's targets in nats, or the custom loss, with load_balance
    double norm = 0;        ///< of all gradients, before clipping
    std::vector<double> block_norms = {};  ///< of the gradients of each block, in the order of Trainer::blocks
    double rate = 0;
    double scale = 1;         ///< the loss scale; 1 with f32
    bool skipped = false;     ///< a gradient was not finite, so no parameter changed
    std::int64_t tokens = 0;  ///< read since the first step
    double seconds = 0;       ///< from the end of the previous step to the end of this one
};

/// How well a model classifies.
struct LabelQuality {
    double accuracy = 0;  ///< fraction of correct predictions
    /// Expected calibration error (Guo et al. 2017): the mean difference of confidence and accuracy over 15 bins of
    /// equal width. Confidence is the probability of the predicted label.
    double calibration_error = 0;
};

/// A model on a device with its gradients and optimiser states, and the recorded training step.
/// Threads: one at a time.
class Trainer {
public:
    /// A new model of the sizes of a config.json (its text), with initial weights drawn from the seed. `tokenizer_file`
    /// goes into the folders that `save` writes. Throws bad_file, usage for data that were read with another tokenizer,
    /// unsupported for an architecture that cannot be trained, out_of_memory with the numbers.
    Trainer(const Device& device, const std::string& config, const Dataset& data, const TrainOptions& options,
            const std::string& tokenizer_file = {});
    /// Fine-tunes the model of a folder: all weights in f32, or with TrainOptions::lora adapters beside them. The
    /// folder can also have adapters whose adapter_config.json names the model folder. With `resume` the run of a
    /// folder that `save` wrote goes on as if it had never stopped; a warning names what differs on another device or
    /// driver, or with another build. Throws bad_file, usage for data that were read with another tokenizer, and with
    /// `resume` for options that do not fit.
    static Trainer from_folder(const Device& device, const std::string& folder, const Dataset& data,
                               const TrainOptions& options, bool resume = false);
    ~Trainer();
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;

    /// Waits for the next step and returns its record; nothing after the last step. Submits up to two steps ahead.
    /// After Ctrl-C it submits none, returns the submitted ones, and then throws interrupted; with `give_up` it throws
    /// at once. A step whose gradients are not finite changes no parameter. Throws accuracy if a loss is not finite, or
    /// if the gradients of ten steps or more in a row are not and the loss scale cannot shrink; and device_lost.
    std::optional<TrainRecord> next();
    /// Submits no more steps. next() returns the submitted ones, and then nothing.
    void stop();
    /// Waits for the last submitted step and returns the mean loss of the validation data in nats per target; nothing
    /// if there are no validation data.
    std::optional<double> evaluate();
    /// Of the last evaluate(), for a model that learns labels.
    std::optional<LabelQuality> label_quality() const;
    /// Waits for the last submitted step and returns the model with its parameters. The weights are a copy, which the
    /// next call of model() updates, also for sessions of an earlier one. With adapters they are shared with the
    /// Trainer: do not run sessions after the next call of next(), while steps are running. Throws unsupported for
    /// CLIP, which is two models: save() and load one of them.
    Model model();
    /// The text with which the model continues or answers the prompt, of at most `tokens` tokens. Throws usage for
    /// models that do not continue or answer a text, and without a tokenizer.
    std::string sample(const std::string& prompt, std::int64_t tokens, const Sampling& sampling = default_sampling);
    /// Writes a checkpoint to the new folder `folder`/step-N, and points the link `folder`/latest to it. The checkpoint
    /// is a model folder, or with adapters a folder of these alone (LoadOptions::lora), with what resuming needs. It is
    /// written whole or not at all, and replaces one of this name that another run left. Returns its path. Throws
    /// bad_file if it cannot be written, and accuracy if the model or the optimiser has values that are not finite.
    std::string save(const std::string& folder);

    /// Dispatch times of the steps since the last call, with TrainOptions::profile.
    std::vector<DispatchTiming> take_timings();

    std::int64_t step() const;  ///< number of submitted steps, for which `save` and `evaluate` wait
    std::int64_t steps() const;
    std::uint64_t parameters() const;
    /// The prefixes of the parameters of each block, such as h.0; "" are the parameters outside of blocks.
    const std::vector<std::string>& blocks() const;
    std::uint64_t bytes() const;       ///< of weights, gradients and optimiser states
    std::uint64_t step_bytes() const;  ///< of activations, which a step takes beside `bytes`
    std::int64_t recompute() const;    ///< TrainOptions::recompute as it was chosen
    std::int64_t accumulate() const;   ///< TrainOptions::accumulate; with `divide` as it was chosen
    double flops_per_token() const;    ///< of the forward and backward pass, with recomputation

private:
    internal::TrainerState& state() const;
    explicit Trainer(std::unique_ptr<internal::TrainerState> state);
    std::unique_ptr<internal::TrainerState> state_;
};

/// Adds the adapters of the folder `lora` to the weights of the folder `model`, and writes the result to the folder
/// `output`, which must be new or empty: whole or not at all. Weights keep their types and files. Returns the number of
/// changed matrices. Throws bad_file, and unsupported for adapters that Model::load does not take.
std::int64_t merge_lora(const std::string& model, const std::string& lora, const std::string& output);

}  // namespace vantage
