// Training: a model learns from texts, labels, answers or images on the device.
//
//     Dataset data({"corpus.txt"}, tokenizer, {.context = 256});
//     const TrainOptions options{.steps = 1000, .rate = {.rate = 3e-4, .warmup = 50}};
//     Trainer trainer = Trainer::from_folder(device, "gpt2", data, options);
//     while (const auto step = trainer.next()) std::cout << step->step << ' ' << step->loss << '\n';
//     trainer.save("out");
//
// Threads: a Trainer belongs to one thread at a time; a Dataset may be used by any. next(), evaluate() and save() block
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
    std::int64_t context = 0;  ///< tokens of a sequence; of source and answer each; images have their own number
    /// The model that learns: its folder, or its config.json. It says what files have: texts, of which decoders learn
    /// the next token and encoders masked ones, or examples with labels, answers or images (docs/training.md). Without
    /// one: a decoder.
    std::string model = {};
    /// Names of labels: an encoder learns these with a new output layer, drawn from TrainOptions::seed, in place of
    /// its own. Empty: the labels of its config.json.
    std::vector<std::string> labels = {};
    /// The pixels of an image file as Session::set_image takes them, for models that see.
    std::function<std::vector<float>(const std::string& file)> read_image = {};
    /// Documents of these files measure what was learned; without them, this share of all documents, chosen by a hash
    /// of their tokens, of examples of their line, so that the choice stays when files grow.
    std::vector<std::string> validation_files = {};
    double validation_share = 0.01;
    bool blank_lines = false;  ///< separate the documents of texts, in place of <|endoftext|>
    /// Documents of one sequence are apart: a token attends to those of its own document, positions begin at 0 in each,
    /// and the last token of a document is not asked for the first of the next one. Not for layers that carry a state
    /// from token to token (Mamba, recurrent layers) and Longformer: a Trainer throws unsupported; nor for models that
    /// learn labels, answers or pairs: throws usage.
    bool separate_documents = false;
    bool strict = false;  ///< a line of a .jsonl that cannot be read is an error, not left out
    /// A model folder whose chat template turns "messages" into text.
    std::string chat_folder = {};
    /// Of files with token ids and no tokenizer: ids are below it.
    std::int64_t vocabulary = 0;
    std::optional<std::int32_t> end_token = {};  ///< ends each document; without one "<|endoftext|>" or "</s>"
    /// Where the tokens are kept; empty: the cache (VANTAGE_CACHE_DIR). A second run with the same files reads them.
    std::string folder = {};
    /// Called with a file and the share of it that is read.
    std::function<void(const std::string& file, double share)> progress = {};
};

/// Texts as sequences of tokens on disk. Files: text, .jsonl, .bin of llm.c and nanoGPT, .safetensors
/// (docs/training.md). A sequence has `context` tokens and the one behind them; it begins where a document begins, half
/// of them at the end token in front of it, or at a multiple of `context` in a longer document, and runs on into the
/// next documents. Or examples from .jsonl files, a sequence each: texts or images with labels or answers, where
/// DatasetOptions::model learns from those. Which sequences a step reads is a function of the seed and the step alone.
///
/// Threads: any. Copies share the data.
class Dataset {
public:
    /// Throws bad_file naming file and line for what cannot be read, usage where there is less than a sequence,
    /// unsupported for a model that cannot be trained.
    Dataset(const std::vector<std::string>& files, const Tokenizer& tokenizer, const DatasetOptions& options);
    /// Of files with token ids or images.
    Dataset(const std::vector<std::string>& files, const DatasetOptions& options);
    Dataset(const Dataset&) = default;  // moves copy, too
    Dataset& operator=(const Dataset&) = default;

    std::int64_t context() const;
    std::int64_t documents() const;
    std::int64_t tokens() const;
    std::int64_t targets() const;  ///< tokens that a model learns to predict
    std::int64_t skipped() const;  ///< lines that could not be read
    std::int64_t validation_tokens() const;
    std::int64_t sequences() const;  ///< of an epoch: as many as hold all tokens
    std::int64_t validation_sequences() const;
    const std::string& description() const;  ///< the files, for messages

private:
    friend struct internal::TrainerState;
    friend class Trainer;
    std::shared_ptr<const internal::TrainingData> data_;
};

/// What TrainOptions::loss makes the loss of a micro-batch from. A row is a place of a sequence where something is
/// learned, such as the next token; of labels it is a sequence.
struct LossInputs {
    Tensor logits = {};          ///< f32 [rows, classes]
    Tensor targets = {};         ///< i32 [rows], negative where a row has none
    Tensor cross_entropy = {};   ///< f32 [rows], with label smoothing and z-loss; 0 where a row has no target
    Tensor weights = {};         ///< f32 [rows]: 1 / number of the step's targets, in each row
    std::int64_t sequences = 0;  ///< of the micro-batch, with rows / sequences rows each
};

struct TrainOptions {
    std::int64_t steps = 1000;
    std::int64_t sequences = 8;   ///< of a micro-batch
    std::int64_t accumulate = 1;  ///< micro-batches of a step: their gradients are added up
    RateOptions rate = {.schedule = RateSchedule::cosine, .rate = 3e-4};
    Optimizer optimizer = Optimizer::adamw;
    double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;  ///< of Adam and AdamW
    double momentum = 0;                           ///< of SGD
    bool nesterov = false;
    double weight_decay = 0.1;  ///< of parameters with two dimensions or more
    double max_norm = 1;        ///< gradients are scaled down to this norm; 0: not
    double label_smoothing = 0, z_loss = 0;
    /// Custom loss of a micro-batch, f32 [1], made of nodes that have a gradient. Default: Σ weights · cross_entropy.
    /// The loss of a step is the sum over its micro-batches. With a custom loss the logits of all rows are in memory at
    /// once. Evaluation uses the cross-entropy. It is not saved: to resume, pass it again. Not for pairs (CLIP).
    /// Example: examples/cpp/own_loss.cpp.
    std::function<Tensor(const LossInputs&)> loss = {};
    /// Of a mixture of experts: the factor of what uneven routers add to the loss, as in transformers: load_balance
    /// (ops.h) over the rows of all layers, the mean of the micro-batches. Absent: router_aux_loss_coef where
    /// config.json says "output_router_logits": true, else 0. Evaluation has none.
    std::optional<double> load_balance = {};
    /// Of each sublayer's output in front of its residual sum, and of what goes into the first block (Vaswani et al.
    /// 2017): the share of features that are set to 0. Evaluation has none.
    double dropout = 0;
    double attention_dropout = 0;            ///< the same of the weights of attention
    std::uint64_t seed = 0;                  ///< of initial weights, of the order of the data and of dropout
    std::int64_t validation_sequences = 64;  ///< of each evaluation, at most
    /// Batches to skip: step s reads batch s + skipped_batches. For resuming a diverged run from an earlier checkpoint
    /// without the batches that followed it. On resume the larger of this and the checkpoint's number is used.
    std::int64_t skipped_batches = 0;
    /// Every step reads the first batch. A model that can learn brings its loss near 0: a check of model, data and
    /// settings.
    bool overfit = false;
    /// On resume: allow other data and another seed than the checkpoint's. The result then differs from that of an
    /// uninterrupted run.
    bool other_data = false;
    /// Steps are not submitted ahead across multiples of this: what evaluate(), sample() and save() see there is the
    /// model after exactly so many steps. 0: no such multiples.
    std::int64_t pause_every = 0;
    /// f32, or f16: matrix units, where the device has them, multiply operands rounded to f16. Sums, parameters,
    /// activations and all else are f32; the loss is scaled, so that small gradients do not vanish (Micikevicius et al.
    /// 2018).
    Precision precision = Precision::f32;
    /// With f16: a constant loss scale from 1 to 2^24. 0: a dynamic one, which begins at 65536, is halved where
    /// gradients are not finite and doubled after 2000 steps in which they were.
    double loss_scale = 0;
    /// Bytes of device memory that a step may take, beside weights that are not trained; 0: nine tenths of what the
    /// device has left.
    std::uint64_t memory = 0;
    /// Activations that the backward pass recomputes instead of keeping them (Chen et al. 2016): 0 none; 1 the cheap
    /// ones, such as norms and activation functions; 1 + k also all of the first k blocks, except their inputs; -1 the
    /// lowest number with which a step fits into `memory`.
    std::int64_t recompute = -1;
    bool profile = false;  ///< times every dispatch (take_timings)
    /// CompileOptions::submission_seconds: short ones let a window of the same device draw in between.
    double submission_seconds = 0.1;
    /// Of a model folder: its weights stay, and adapters beside its linear layers are trained. A folder of adapters, in
    /// place of a model folder, has its own.
    std::optional<LoraOptions> lora = {};
    /// With adapters: how the matrices that stay are stored (LoadOptions::weights).
    std::optional<DType> weights = {};
};

/// What a step did.
struct TrainRecord {
    std::int64_t step = 0;                 ///< from 0
    double loss = 0;                       ///< mean over the step's targets, in nats, and what load_balance adds
    double norm = 0;                       ///< of all gradients, before they are scaled down
    std::vector<double> block_norms = {};  ///< the same of each block's, in the order of Trainer::blocks
    double rate = 0;
    double scale = 1;         ///< of the loss; changes with Precision::f16
    bool skipped = false;     ///< a gradient was not finite: the parameters stayed
    std::int64_t tokens = 0;  ///< that were read until now
    double seconds = 0;       ///< between the end of the step before and that of this one
};

/// How well a model classifies.
struct LabelQuality {
    double accuracy = 0;  ///< share of the right ones
    /// Expected calibration error (Guo et al. 2017): the mean difference of confidence and accuracy, in 15 bins of
    /// equal width by confidence, which is the probability of the most probable label.
    double calibration_error = 0;
};

/// A model, its gradients and optimiser on a device, and the recorded step that changes them.
/// Threads: one at a time.
class Trainer {
public:
    /// A new model of the sizes of a config.json (its text), with initial weights drawn from the seed. `tokenizer_file`
    /// goes into the folders that `save` writes. Throws bad_file, unsupported for an architecture that cannot be
    /// trained, out_of_memory with the numbers.
    Trainer(const Device& device, const std::string& config, const Dataset& data, const TrainOptions& options,
            const std::string& tokenizer_file = {});
    /// A model folder is trained on: its weights in f32, or with TrainOptions::lora adapters beside them. So is a
    /// folder of adapters whose adapter_config.json names a model folder. With `resume` a folder that `save` wrote goes
    /// on as if it had never stopped. Throws bad_file, and with `resume` usage for options that do not fit.
    static Trainer from_folder(const Device& device, const std::string& folder, const Dataset& data,
                               const TrainOptions& options, bool resume = false);
    ~Trainer();
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;

    /// Submits steps, at most two ahead, and returns what the next one did; nothing behind the last one. After Ctrl-C
    /// none is submitted, and when all are returned it throws interrupted. Throws device_lost, and accuracy where a
    /// loss is not finite, or the gradients of ten steps in a row. Gradients that are not finite change no parameter.
    std::optional<TrainRecord> next();
    /// Submits no more steps. next() returns the submitted ones, and then nothing.
    void stop();
    /// Mean loss of the validation data with the parameters of the last completed step, in nats per target; nothing
    /// where there are no validation data.
    std::optional<double> evaluate();
    /// Of the last evaluate(), of a model that learns labels.
    std::optional<LabelQuality> label_quality() const;
    /// The model with the parameters of the last submitted step; waits for that step. The weights are a copy, which the
    /// next call of model() updates, also for sessions of an earlier one. With adapters they are not a copy: do not run
    /// sessions while steps are running, that is, after the next call of next(). Throws unsupported for CLIP, which is
    /// two models: save() and load one of them.
    Model model();
    /// The text that the model continues with, or answers. Throws usage for encoders.
    std::string sample(const std::string& prompt, std::int64_t tokens, const Sampling& sampling = default_sampling);
    /// Writes the model as a new folder `folder`/step-N, which `vantage run` opens and which training can go on from,
    /// and lets `folder`/latest point to it; of a model with adapters these alone, for LoadOptions::lora. All of it is
    /// there, or nothing; what is there under this name of another run is replaced. Returns the path of the folder.
    /// Throws bad_file where it cannot be written.
    std::string save(const std::string& folder);

    /// Dispatch times of the steps since the last call, with TrainOptions::profile.
    std::vector<DispatchTiming> take_timings();

    std::int64_t step() const;  ///< submitted: what `save` and `evaluate` wait for
    std::int64_t steps() const;
    std::uint64_t parameters() const;
    /// The blocks of the model by the names of their parameters, such as h.0; "" is what is outside of them.
    const std::vector<std::string>& blocks() const;
    std::uint64_t bytes() const;       ///< of weights, gradients and the optimiser's states
    std::uint64_t step_bytes() const;  ///< of activations: what a step takes beside `bytes`
    std::int64_t recompute() const;    ///< what TrainOptions::recompute came to
    double flops_per_token() const;    ///< of forward and backward pass, with what is recomputed

private:
    internal::TrainerState& state() const;
    explicit Trainer(std::unique_ptr<internal::TrainerState> state);
    std::unique_ptr<internal::TrainerState> state_;
};

/// Writes the model of the folder `model` with the adapters of the folder `lora` added to its weights to the folder
/// `output`, which must be new or empty: whole or not at all. Weights keep their types and files. Returns how many
/// matrices changed. Throws bad_file, and unsupported for adapters that Model::load does not take.
std::int64_t merge_lora(const std::string& model, const std::string& lora, const std::string& output);

}  // namespace vantage
