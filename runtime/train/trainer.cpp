#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/utf8.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/op_def.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/host_inputs.h"
#include "runtime/train/label_counter.h"
#include "runtime/train/model_weights.h"
#include "runtime/train/step_memory.h"
#include "runtime/train/trainer_settings.h"
#include "runtime/train/training_data.h"
#include "runtime/train/training_graph.h"
#include "vantage/train.h"
#include "vantage/vulkan.h"

namespace vantage {

using namespace internal;

namespace {

constexpr std::int64_t max_skipped = 10;  // steps in a row

double micro_batch_flops(const TrainingStep& step) {
    double flops = 0;
    for (const Node& node : step.graph.nodes())
        if (node.segment != step.update && node.op->cost != nullptr)
            flops += node.op->cost(call_of(step.graph, node)).flops;
    return flops;
}

// Of weights and states that a node reads; the others, such as weights of kinds of attention that no layer has, have no
// memory.
std::set<std::string> names_in_use(const Graph& graph) {
    std::set<std::string> names;
    for (const int node : live_nodes(graph))
        for (const int id : at(graph.nodes(), node).inputs) {
            if (id < 0) continue;
            const Value& value = graph.value(graph.storage(id));
            if (value.kind == ValueKind::weight || value.kind == ValueKind::state) names.insert(value.name);
        }
    return names;
}
std::set<std::string> names_of(const std::vector<Value>& values) {
    std::set<std::string> names;
    for (const Value& value : values) names.insert(value.name);
    return names;
}

// Of the model.
std::optional<Tokenizer> tokenizer_of(const ModelOrigin& origin, const ModelConfig& config, const TrainingData& data) {
    const auto file = origin.tokenizer();
    if (!file) return std::nullopt;
    Tokenizer tokenizer = Tokenizer::load(*file);
    if (!config.is_vision()) require_same_tokens(data, tokenizer, *file);
    return tokenizer;
}
}  // namespace

struct internal::TrainerState {
    Device device;
    ModelOrigin origin;
    std::shared_ptr<const TrainingData> data;
    TrainOptions options;
    std::optional<Model> model;  ///< with adapters the one that plans share all weights with; else for samples
    ModelConfig config;
    TrainingSettings settings;
    std::optional<Tokenizer> tokenizer;
    StartingWeights start;
    TrainingStep step;
    std::set<std::string> parameters, in_use;
    Plan plan;
    HostInputs inputs;  ///< of all slots
    std::optional<Plan> evaluation = {};
    std::vector<Value> evaluation_inputs = {};
    std::optional<LabelQuality> label_quality = {};
    std::int64_t submitted = 0, returned = 0;  ///< steps
    std::int64_t skipped = 0;                  ///< the last ones in a row
    bool stopped = false;                      ///< no more steps are submitted
    bool torn = false;                         ///< a step was submitted in part
    std::exception_ptr failure = {};           ///< of a submission, while earlier steps are running
    std::string base = {};                     ///< ModelOrigin::base_checksum, when the run began
    std::string own_checkpoint = {};           ///< the last one that this run wrote, or went on from
    std::deque<std::uint64_t> tickets = {};    ///< of the steps between
    std::vector<DispatchTiming> timings = {};
    double step_end = seconds_now();

    TrainerState(const Device& d, ModelOrigin o, const Dataset& set, const TrainOptions& train_options)
        : device(d),
          origin(std::move(o)),
          data(set.data_),
          options(train_options),
          model(origin.adapted_model(device, options)),
          config(trained_config(model ? config_of(*model) : origin.config(), options, *data)),
          settings(settings_of(options, config, *data)),
          tokenizer(tokenizer_of(origin, config, *data)),
          start(origin.weights(config, options.seed)),
          step(step_within(config, settings, device.caps(), memory(), types(), options.divide)),
          parameters(names_of(step.parameters)),
          in_use(names_in_use(step.graph)),
          plan((require_inputs(),
                plan_of(step.graph, {.profile = options.profile, .submission_seconds = options.submission_seconds}))),
          inputs(settings.slots * settings.sequences) {
        if (config.lora && !is_utf8(origin.base()))  // adapter_config.json names it
            throw usage_error("{}: the path of a model that adapters are trained for must be UTF-8",
                              repair_utf8(origin.base()));
        options.recompute = settings.recompute;
        options.sequences = settings.sequences, options.accumulate = settings.micro_batches;
        base = origin.base_checksum(options);
        for (const Value& value : step.graph.values())
            if (in_use.contains(value.name) &&
                ((value.kind == ValueKind::weight && !config.lora) || is_parameter(value)))
                plan.write(value.name, start(value));
        for (const Value& value : step.inputs)
            inputs.add(value.name, {plan.host_memory(value.name), static_cast<std::size_t>(value.type.bytes())});
        plan.write(train_names::train, first_train_words(settings));
        if (data->validation_sequences() > 0 && options.validation_sequences > 0) evaluation = make_evaluation();
    }

    std::uint64_t memory() const { return options.memory > 0 ? options.memory : device.memory_available() / 10 * 9; }
    Graph::WeightTypes types() const { return config.lora ? weight_types_of(*model) : Graph::WeightTypes(); }
    Plan plan_of(const Graph& graph, const CompileOptions& how) const {
        return PlanAccess::make(graph.copy(), device, how, config.lora ? weights_of(*model) : nullptr);
    }

    bool is_parameter(const Value& value) const {
        return value.kind == ValueKind::state && parameters.contains(value.name);
    }
    void require_inputs() const {
        for (const Value& value : step.graph.values())
            if (value.kind == ValueKind::input)
                throw unsupported_error("training: {} reads {}, which {} do not have", config.architecture, value.name,
                                        name_of(data->task()));
    }

    // The host's pointer to a state that it shares with the device.
    template <class T>
    T* shared(const char* name) const {
        return reinterpret_cast<T*>(plan.host_memory(name));
    }

    // Writes the micro-batches of a step into their slots.
    void write_batches(std::int64_t number) {
        const auto slot_of = [&](std::int64_t micro) {
            return (number * settings.micro_batches + micro) % settings.slots;
        };
        std::int64_t targets = 0;
        for (std::int64_t micro = 0; micro < settings.micro_batches; ++micro)
            targets += write_batch(number, micro, slot_of(micro));
        const float weight = 1 / static_cast<float>(std::max<std::int64_t>(targets, 1));
        for (std::int64_t micro = 0; micro < settings.micro_batches; ++micro)
            std::ranges::fill(
                inputs.part<float>(train_names::loss_weights, slot_of(micro) * settings.sequences, settings.sequences),
                weight);
    }
    // One of them, without the weights of its losses. Returns the number of targets.
    std::int64_t write_batch(std::int64_t number, std::int64_t micro, std::int64_t slot) {
        const std::int64_t each = settings.sequences, batch = options.overfit ? 0 : number + options.skipped_batches;
        std::int64_t targets = 0;
        for (std::int64_t sequence = 0; sequence < each; ++sequence) {
            const TrainingSequence to = inputs.at(slot * each + sequence);
            const std::int64_t place = (batch * settings.micro_batches + micro) * each + sequence;
            data->read(options.seed, place_of(*data, each, place), to);
            complete(config, sequence, to);
            targets += std::ranges::count_if(to.targets, [](std::int32_t target) { return target >= 0; });
        }
        return targets;
    }

    bool may_submit() const {
        if (stopped || interrupted() || submitted >= options.steps || submitted - returned >= steps_ahead) return false;
        return options.pause_every == 0 || submitted % options.pause_every != 0 || submitted == returned;
    }
    // Part of a step would change the parameters of the next one. A trainer that gives up has no next one.
    std::optional<InterruptsDeferred> whole_steps() const {
        if (options.give_up) return {};
        return std::optional<InterruptsDeferred>(std::in_place);
    }
    void submit() {
        const auto whole = whole_steps();
        write_batches(submitted);
        std::vector<int> segments;
        for (std::int64_t micro = 0; micro < settings.micro_batches; ++micro)
            segments.insert(segments.end(), step.micro_batch.begin(), step.micro_batch.end());
        segments.push_back(step.update);
        torn = true;  // until all of it is submitted
        tickets.push_back(plan.submit(segments));
        if (options.profile) timings.insert(timings.end(), plan.timings().begin(), plan.timings().end());
        ++submitted, torn = false;
    }

    // Where the first result that is not finite comes from, for a message: runs a step again, node by node, with the
    // parameters as they are. The run cannot go on after that.
    std::string first_not_finite(std::int64_t number) {
        try {
            finish();
            for (std::int64_t micro = 0; micro < settings.micro_batches; ++micro) {
                for (std::int64_t slot = 0; slot < settings.slots; ++slot)  // whichever the device reads
                    write_batch(number, micro, slot);
                if (const std::optional<Divergence> found = plan.find_not_finite()) return first_place(found);
            }
        } catch (const Error& error) {  // what is known is said without it
            if (error.kind() == ErrorKind::device_lost) throw;
        }
        return "";
    }

    TrainRecord record_of(std::int64_t number) {
        const float* words = shared<float>(train_names::history) + number % TRAIN_HISTORY * TRAIN_RECORD;
        const std::int64_t blocks = std::ssize(step.blocks);
        const float* norms = shared<float>(train_names::norms) + number % TRAIN_HISTORY * blocks;
        const double now = seconds_now();
        const TrainRecord record{.step = number,
                                 .loss = words[1],
                                 .norm = words[2],
                                 .block_norms = {norms, norms + blocks},
                                 .rate = words[3],
                                 .scale = words[4],
                                 .skipped = words[5] != 0,
                                 .tokens = (number + 1) * settings.micro_batches * settings.sequences * settings.rows,
                                 .seconds = now - std::exchange(step_end, now)};
        if (!std::isfinite(record.loss))
            throw Error(ErrorKind::accuracy,
                        format("training: the loss of step {} is not finite{}; a lower learning rate may help", number,
                               first_not_finite(number)));
        skipped = record.skipped ? skipped + 1 : 0;
        // a dynamic scale shrinks first, to 1 at last
        if (skipped >= max_skipped && (record.scale <= 1 || options.loss_scale > 0))
            throw Error(ErrorKind::accuracy,
                        format("training: gradients were not finite in {} steps in a row, up to step {}{}; a lower "
                               "{} may help",
                               skipped, number, first_not_finite(number),
                               options.loss_scale > 0 ? "loss scale" : "learning rate"));
        return record;
    }

    void finish() {
        if (!tickets.empty()) plan.wait(tickets.back());
    }

    // The current values of any weight of the model.
    std::vector<float> values_of(const Value& value) {
        if (in_use.contains(value.name)) {
            const Array array = plan.read(value.name);
            return {array.data(), array.data() + array.size()};
        }
        return start(value);
    }

    // Values that are not finite would be no model to go on with.
    void require_finite(const Value& value, std::span<const float> values) const {
        if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
            throw Error(ErrorKind::accuracy,
                        format("training: {} has values that are not finite after step {}, whose model is not saved; a "
                               "lower learning rate may help",
                               value.name, submitted));
    }

    // States of the optimiser.
    std::vector<Value> moments() const {
        std::vector<Value> all;
        for (const Value& value : step.graph.values())
            if (value.kind == ValueKind::state &&
                (value.name.starts_with(train_names::mean("")) || value.name.starts_with(train_names::variance(""))))
                all.push_back(value);
        return all;
    }

    // What goes into the file of weights.
    std::vector<Value> saved_weights() const {
        std::vector<Value> weights = weights_in_files(config);
        if (config.lora) std::erase_if(weights, [](const Value& weight) { return !is_adapter(weight.name); });
        return weights;
    }

    // Of the tensors of a checkpoint, which are f32; what else is in it is small.
    std::uint64_t checkpoint_bytes() const {
        std::int64_t elements = 0;
        for (const std::vector<Value>& values : {saved_weights(), moments()})
            for (const Value& value : values) elements += value.type.shape.elements();
        return sizeof(float) * static_cast<std::uint64_t>(elements);
    }

    void save(const FolderWriter& folder) {
        if (config.lora) {
            write_adapter_config(folder.file(adapter_files::config), config, origin.base());
        } else {
            origin.write_files(folder);
        }
        write_model_file(folder.file(config.lora ? adapter_files::weights : "model.safetensors"), saved_weights(),
                         start, [&](const Value& value) {
                             std::vector<float> values = values_of(value);
                             require_finite(value, values);
                             return values;
                         });
        std::vector<TensorToWrite> tensors;
        for (const Value& value : moments())
            tensors.push_back({.name = value.name,
                               .dtype = "F32",
                               .shape = {value.type.shape.sizes().begin(), value.type.shape.sizes().end()},
                               .make = [this, value] {
                                   std::vector<std::byte> bytes = plan.read_bytes(value.name);
                                   require_finite(value, {reinterpret_cast<const float*>(bytes.data()),
                                                          bytes.size() / sizeof(float)});
                                   return bytes;
                               }});
        tensors.push_back({.name = train_names::train, .dtype = "F32", .shape = {TRAIN_WORDS}, .make = [this] {
                               return plan.read_bytes(train_names::train);
                           }});
        write_safetensors(folder.file("training.safetensors"), tensors);
        write_training_json(folder, submitted, options, data->key(), data->source(), base, device.caps());
    }

    // A state as `save` wrote it.
    static std::vector<float> saved_state(const SafeTensors& file, const std::string& name, const Shape& shape) {
        const TensorEntry& entry = file.at(name);
        if (entry.dtype != "F32" || !std::ranges::equal(entry.shape, shape.sizes()))
            throw bad_file_error("{}: {} is {}, wanted F32 {}", file.name(), name, entry.text(), shape.text());
        std::vector<float> values(static_cast<std::size_t>(shape.elements()));
        entry.data.read(0, std::as_writable_bytes(std::span(values)));
        return values;
    }

    void resume(const SavedTraining& saved) {
        Json was = to_json(saved.options), is = to_json(options);
        for (const char* may_change : {"steps", "validation_sequences", "pause_every", "memory", "skipped_batches"})
            was.erase(may_change), is.erase(may_change);
        if (options.other_data) was.erase("seed");
        for (const auto& [key, value] : was.items())
            if (is[key] != value)
                throw usage_error("training: {} is {}, but the checkpoint has {}: begin a new run with -m {}", key,
                                  is[key].dump(), value.dump(), saved.folder);
        if (data->key() != saved.data_key && !options.other_data)
            throw usage_error("training: the data are not those of the checkpoint {}", saved.folder);
        if (!saved.base.empty() && base != saved.base)
            throw usage_error("training: the model {} is not the one beside which the adapters of {} were trained",
                              origin.folder(), saved.folder);
        warn_of_other_bits(saved, device.caps());
        const SafeTensors file(saved.folder + "/training.safetensors");
        for (const Value& value : moments()) {
            const std::vector<float> values = saved_state(file, value.name, value.type.shape);
            if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
                throw bad_file_error("{}: {} has values that are not finite", file.name(), value.name);
            plan.write(value.name, values);
        }
        const std::vector<float> words = saved_state(file, train_names::train, {TRAIN_WORDS});
        if (words[TRAIN_STEP] != static_cast<float>(saved.step))
            throw bad_file_error("{}: it is not of step {}, as training.json says", file.name(), saved.step);
        if (words[TRAIN_MICRO] != 0 || !(words[TRAIN_SCALE] > 0 && std::isfinite(words[TRAIN_SCALE])) ||
            !(words[TRAIN_UPDATES] >= 0 && words[TRAIN_UPDATES] <= words[TRAIN_STEP]))
            throw bad_file_error("{}: {} has values that no run leaves", file.name(), train_names::train);
        plan.write(train_names::train, words);
        submitted = returned = saved.step, own_checkpoint = saved.folder;
    }

    // The negatives of a pair are all others of the micro-batch, so that none may be there twice.
    std::int64_t evaluation_sequences() const {
        if (data->task() != Task::pairs) return settings.sequences;
        return std::min(settings.sequences, data->validation_sequences());
    }

    Plan make_evaluation() {
        TrainingSettings of_evaluation = settings;
        of_evaluation.sequences = evaluation_sequences();
        const TrainingStep graph = build_evaluation(config, of_evaluation, types());
        evaluation_inputs = graph.inputs;
        Plan made = plan_of(graph.graph, {.submission_seconds = options.submission_seconds});
        const std::set<std::string> used = names_in_use(graph.graph);
        for (const Value& value : graph.parameters) {
            if (!used.contains(value.name)) continue;
            if (parameters.contains(value.name))
                made.bind(value.name, plan.buffer(value.name));
            else
                made.write(value.name, values_of(value));
        }
        return made;
    }
};

Trainer::Trainer(std::unique_ptr<TrainerState> state) : state_(std::move(state)) {}
Trainer::Trainer(const Device& device, const std::string& config, const Dataset& data, const TrainOptions& options,
                 const std::string& tokenizer_file)
    : state_(std::make_unique<TrainerState>(
          device, ModelOrigin::from_config(config, tokenizer_file, data.data_->folder()), data, options)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Trainer Trainer::from_folder(const Device& device, const std::string& folder, const Dataset& data,
                             const TrainOptions& options, bool resume) {
    const auto make = [&](ModelOrigin origin, const TrainOptions& with) {
        return Trainer(std::make_unique<TrainerState>(device, std::move(origin), data, with));
    };
    if (!resume) return make(ModelOrigin::from_folder(folder, data.data_->labels()), options);
    const SavedTraining saved = newest_checkpoint(folder);
    TrainOptions same = options;  // with other kernels fused, the last bits would differ
    if (same.recompute < 0) same.recompute = saved.options.recompute;
    const auto sequences_of = [](const TrainOptions& o) {  // in double: what was given is not checked yet
        return static_cast<double>(o.sequences) * static_cast<double>(o.accumulate);
    };
    if (same.divide && sequences_of(same) == sequences_of(saved.options))
        same.sequences = saved.options.sequences, same.accumulate = saved.options.accumulate, same.divide = false;
    same.skipped_batches = std::max(same.skipped_batches, saved.options.skipped_batches);
    Trainer trainer = make(ModelOrigin::from_folder(saved.folder), same);
    trainer.state_->resume(saved);
    return trainer;
}

TrainerState& Trainer::state() const {
    if (!state_) throw usage_error("trainer: it was moved from");
    return *state_;
}

std::optional<TrainRecord> Trainer::next() {
    TrainerState& s = state();
    if (s.options.give_up) throw_if_interrupted();
    while (!s.failure && s.may_submit()) {
        try {
            s.submit();
        } catch (...) {  // after the steps that are submitted
            s.failure = std::current_exception();
        }
    }
    if (s.tickets.empty()) {
        if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
        throw_if_interrupted();
        return std::nullopt;
    }
    const auto whole = s.whole_steps();
    s.plan.wait(s.tickets.front());
    s.tickets.pop_front();
    return s.record_of(s.returned++);
}

std::optional<double> Trainer::evaluate() {
    TrainerState& s = state();
    const std::int64_t count = std::min(s.data->validation_sequences(), s.options.validation_sequences);
    if (count == 0) return std::nullopt;
    s.finish();
    const std::int64_t sequences = s.evaluation_sequences();
    double sum = 0;
    std::int64_t targets = 0;
    LabelCounter labels;
    HostInputs inputs(sequences);
    std::map<std::string, std::vector<std::byte>> bytes;
    for (const Value& value : s.evaluation_inputs) {
        std::vector<std::byte>& all = bytes[value.name];
        all.resize(static_cast<std::size_t>(value.type.bytes()));
        inputs.add(value.name, all);
    }
    std::ranges::fill(inputs.part<float>(train_names::loss_weights, 0, sequences), 1.f);
    for (std::int64_t first = 0; first < count; first += sequences) {
        throw_if_interrupted();
        const InterruptsDeferred whole_batch;
        for (std::int64_t i = 0; i < sequences; ++i) {
            const TrainingSequence to = inputs.at(i);
            clear(to);
            const bool counts = first + i < count, pairs = s.data->task() == Task::pairs;
            if (counts || pairs) s.data->read_validation((first + i) % s.data->validation_sequences(), to);
            if (!counts) std::ranges::fill(to.targets, -1);  // a pair is still a negative of others
            complete(s.config, i, to);
        }
        for (const auto& [name, all] : bytes) s.evaluation->write_bytes(name, all);
        s.evaluation->run();
        sum += s.evaluation->read(train_names::loss).data()[0];
        const auto wanted = inputs.part<std::int32_t>(train_names::targets, 0, sequences);
        targets += std::ranges::count_if(wanted, [](std::int32_t target) { return target >= 0; });
        if (s.data->task() != Task::labels) continue;
        const Array logits = s.evaluation->read(model_names::logits);
        for (std::int64_t i = 0; i < std::min(sequences, count - first); ++i) labels.add(logits.row(i), at(wanted, i));
    }
    if (s.data->task() == Task::labels) s.label_quality = labels.quality();
    s.step_end = seconds_now();
    return sum / static_cast<double>(std::max<std::int64_t>(targets, 1));
}

std::optional<LabelQuality> Trainer::label_quality() const { return state().label_quality; }

Model Trainer::model() {
    TrainerState& s = state();
    if (!s.config.towers.empty())
        throw unsupported_error("training: {} is a pair of models: save it, and load one of them",
                                s.config.architecture);
    const InterruptsDeferred whole;  // an interrupted session gives up the device
    s.finish();
    const auto values = [&](const Value& value) { return s.values_of(value); };
    if (!s.model)
        s.model = model_of(s.device, s.config, s.tokenizer, "the trained model", values);
    else if (!s.config.lora)
        set_weights(*s.model, values);
    s.step_end = seconds_now();
    return *s.model;
}

std::string Trainer::sample(const std::string& prompt, std::int64_t tokens, const Sampling& sampling) {
    TrainerState& s = state();
    if (s.config.kind == ModelKind::encoder || s.config.sees())
        throw usage_error("training: {} does not write a text about a text", s.config.architecture);
    if (!s.tokenizer) throw usage_error("training: a text needs a tokenizer, and the model has none");
    const InterruptsDeferred whole;
    Generator generator(model(), sampling, {.max_tokens = tokens});
    const std::string text = generator.complete(prompt);
    s.step_end = seconds_now();
    return text;
}

std::string Trainer::save(const std::string& folder) {
    TrainerState& s = state();
    if (folder.empty()) throw usage_error("training: save needs a folder");
    if (s.torn) throw Error(ErrorKind::failure, "training: a step ended in the middle, so its model cannot be saved");
    s.finish();
    const std::string name = checkpoint_name(s.submitted), path = folder + "/" + name;
    std::error_code error;
    const bool is_own = std::filesystem::equivalent(path, s.own_checkpoint, error) && !error;
    if (!is_own || !std::filesystem::exists(path + "/training.json", error)) {
        std::filesystem::remove_all(path, error);  // damaged, or of another run that was gone back from
        require_room(folder, s.checkpoint_bytes());
        FolderWriter writer(path);
        s.save(writer);
        writer.finish();
        s.own_checkpoint = path;
    }
    link_checkpoint(folder, "latest", s.submitted);
    s.step_end = seconds_now();
    return path;
}

std::vector<DispatchTiming> Trainer::take_timings() { return std::exchange(state().timings, {}); }

void Trainer::stop() { state().stopped = true; }

std::int64_t Trainer::step() const { return state().submitted; }
std::int64_t Trainer::steps() const { return state().options.steps; }

std::uint64_t Trainer::parameters() const {
    std::uint64_t count = 0;
    for (const Value& parameter : state().step.parameters)
        count += static_cast<std::uint64_t>(parameter.type.shape.elements());
    return count;
}

const std::vector<std::string>& Trainer::blocks() const { return state().step.blocks; }

std::uint64_t Trainer::bytes() const {
    std::uint64_t bytes = 0;
    for (const Value& value : state().step.graph.values())
        if (value.kind == ValueKind::state || value.kind == ValueKind::weight) bytes += value.type.bytes();
    return bytes;
}

std::uint64_t Trainer::step_bytes() const { return state().plan.arena_bytes(); }
std::int64_t Trainer::recompute() const { return state().options.recompute; }
std::int64_t Trainer::accumulate() const { return state().options.accumulate; }

double Trainer::flops_per_token() const {
    const TrainingSettings& settings = state().settings;
    return micro_batch_flops(state().step) / static_cast<double>(settings.sequences * settings.rows);
}

std::int64_t merge_lora(const std::string& model, const std::string& lora, const std::string& output) {
    return merge_adapters(model, lora, output);
}

}  // namespace vantage
