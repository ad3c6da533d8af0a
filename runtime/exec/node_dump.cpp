#include "runtime/exec/node_dump.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/base/quantize.h"
#include "runtime/base/spirv.h"
#include "runtime/base/version.h"
#include "runtime/io/safetensors.h"
#include "runtime/ops/expert_linear.h"
#include "shaders/params/step.h"

namespace vantage::internal {
namespace {

constexpr const char *list_name = "dispatch.json", *tensors_name = "operands.safetensors";
constexpr std::size_t max_list_bytes = 1 << 20, max_module_bytes = 16 << 20;
constexpr std::int64_t max_elements = std::numeric_limits<std::int32_t>::max();  // as of Graph::input

std::string result_name(std::size_t i) { return format("result{}", i); }

// ---- writing --------------------------------------------------------------------------------------------------------

/// The dtype in a safetensors file. Quantized blocks have none there: they are bytes.
std::string dtype_in_dump(DType type) { return is_quantized(type) ? "U8" : file_dtype(type); }

std::vector<std::int64_t> file_shape(const TensorType& type) {
    if (is_quantized(type.dtype)) return {static_cast<std::int64_t>(type.bytes())};
    return {type.shape.sizes().begin(), type.shape.sizes().end()};
}

Json type_json(const std::string& name, const TensorType& type) {
    return {{"name", name}, {"type", name_of(type.dtype)}, {"shape", type.shape.sizes()}};
}

Json option_json(const std::string& op, const Attrs::Value& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    throw unsupported_error("{}: the options of a custom kernel cannot be dumped", op);
}

std::string hex(std::span<const std::byte> bytes) {
    return join(bytes, "", [](std::byte byte) { return format("{:02x}", std::to_integer<unsigned>(byte)); });
}

Json launch_json(const DumpedLaunch& launch) {
    return {{"module", launch.module},
            {"constants", launch.constants},
            {"push_constants", hex(launch.parameters)},
            {"groups", launch.groups},
            {"subgroup_size", launch.subgroup_size}};
}

Json dump_json(const NodeDump& dump) {
    const OpCall& call = dump.call;
    Json options = Json::object(), operands = Json::array(), results = Json::array(), launches = Json::array();
    for (const auto& [name, value] : call.attrs.values()) options[name] = option_json(call.op->name, value);
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (call.inputs[i]) operands.push_back(type_json(call.op->operands.at(i), *call.inputs[i]));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) results.push_back(type_json(result_name(i), call.outputs[i]));
    for (const DumpedLaunch& launch : dump.launches) launches.push_back(launch_json(launch));
    Caps device = dump.device;
    device.uuid = {};  // the identity of one device of its kind
    return {{"schema_version", 1},
            {"node", dump.node},
            {"op", call.op->name},
            {"kernel", dump.kernel},
            {"options", options},
            {"operands", operands},
            {"results", results},
            {"launches", launches},
            {"finding", dump.finding},
            {"build", dump.build},
            {"device", Json::parse(caps_to_json(device))}};
}

std::vector<TensorToWrite> tensors_of(const NodeDump& dump) {
    std::vector<TensorToWrite> tensors;
    const auto add = [&](const std::string& name, const TensorType& type, const TensorBytes& bytes) {
        tensors.push_back({name, dtype_in_dump(type.dtype), file_shape(type), bytes});
    };
    const OpCall& call = dump.call;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (call.inputs[i]) add(call.op->operands.at(i), *call.inputs[i], dump.inputs.at(i));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) add(result_name(i), call.outputs[i], dump.results.at(i));
    return tensors;
}

// ---- reading --------------------------------------------------------------------------------------------------------

DType read_dtype(const JsonFields& fields) {
    std::map<std::string, DType> types{{"i32", DType::i32}, {"u32", DType::u32}};
    std::vector<const char*> names;
    for (const DType type : weight_dtypes) types.emplace(name_of(type), type);
    for (const auto& [name, type] : types) names.push_back(name.c_str());
    return types.at(fields.one_of("type", names));
}

TensorType read_type(const JsonFields& fields) {
    const std::vector<std::int64_t> sizes = (fields.list("shape"), fields.integers("shape", 0, max_elements));
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes)
        if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) || elements > max_elements)
            fields.fail("shape", "sizes of less than 2^31 elements");
    if (sizes.size() > static_cast<std::size_t>(Shape::max_rank))
        fields.fail("shape", format("at most {} sizes", Shape::max_rank));
    return {Shape(sizes), read_dtype(fields)};
}

Attrs read_options(const JsonFields& fields) {
    Attrs attrs;
    for (const auto& [name, value] : fields.json().items()) {
        if (value.is_boolean())
            attrs.set(name, value.get<bool>());
        else if (value.is_number_float())
            attrs.set(name, value.get<double>());
        else if (const auto integer = JsonFields::integer_of(value))
            attrs.set(name, *integer);
        else if (value.is_string())
            attrs.set(name, value.get<std::string>());
        else
            fields.fail(name, "true, false, a number or a text");
    }
    return attrs;
}

/// The call. The op's own rules check its operands and options, and give the types of its results.
OpCall read_call(const JsonFields& fields) {
    OpCall call{.op = find_op(fields.text("op"))};
    if (call.op == nullptr) fields.fail("op", "an op of this version of Vantage");
    call.attrs = read_options(fields.object("options"));
    call.inputs.resize(call.op->operands.size());
    for (std::size_t i = 0; i < fields.list("operands").size(); ++i) {
        const JsonFields operand = fields.element("operands", i);
        const auto& names = call.op->operands;
        const auto found =
            std::ranges::find(names, operand.text("name"), [](const char* name) { return std::string(name); });
        if (found == names.end()) operand.fail("name", format("an operand of {}: {}", call.op->name, join(names)));
        call.inputs[static_cast<std::size_t>(found - names.begin())] = read_type(operand);
    }
    try {
        call.outputs = call.op->infer(call);
    } catch (const Error& error) {
        throw bad_file_error("{}: {}", fields.name(), error.what());
    }
    bool same = fields.list("results").size() == call.outputs.size();
    for (std::size_t i = 0; same && i < call.outputs.size(); ++i)
        same = read_type(fields.element("results", i)) == call.outputs[i];
    if (!same)
        fields.fail("results", "the types that the operands give: " +
                                   join(call.outputs, ", ", [](const TensorType& type) { return type.text(); }));
    return call;
}

TensorBytes read_tensor(const SafeTensors& file, const std::string& name, const TensorType& type) {
    const TensorEntry& entry = file.at(name);
    if (entry.dtype != dtype_in_dump(type.dtype) || entry.shape != file_shape(type))
        throw bad_file_error("{}: {} is {}, wanted {}", file.name(), in_quotes(name), entry.text(), type.text());
    return entry.data.all();
}

std::vector<std::byte> read_hex(const JsonFields& fields, const char* key) {
    const std::string text = fields.text(key);
    constexpr std::size_t max_bytes = 128;
    const bool valid = text.size() % 2 == 0 && text.size() <= 2 * max_bytes &&
                       text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!valid) fields.fail(key, format("at most {} bytes as hexadecimal digits", max_bytes));
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::vector<std::uint32_t> read_words(const JsonFields& fields, const char* key) {
    const std::vector<std::int64_t> words = fields.integers(key, 0, std::numeric_limits<std::uint32_t>::max());
    return {words.begin(), words.end()};
}

DumpedLaunch read_launch(const JsonFields& fields) {
    DumpedLaunch launch{.module = fields.text("module")};
    // A file of the folder, so only a plain name.
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (launch.module.empty() || launch.module.size() > 100 || !std::ranges::all_of(launch.module, plain))
        fields.fail("module", "a name of a-z, 0-9 and _");
    launch.constants = read_words(fields, "constants");
    launch.parameters = read_hex(fields, "push_constants");
    const std::vector<std::uint32_t> groups = read_words(fields, "groups");
    if (groups.size() != 3) fields.fail("groups", "three numbers");
    std::ranges::copy(groups, launch.groups.begin());
    launch.subgroup_size = static_cast<std::uint32_t>(fields.integer("subgroup_size", 0, 1024));
    return launch;
}

std::vector<std::uint32_t> read_module(const std::string& path) {
    const std::string bytes = read_file(path, max_module_bytes);
    std::vector<std::uint32_t> words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), 4 * words.size());
    if (bytes.size() % 4 != 0 || !is_spirv(words))
        throw bad_file_error("{}: no SPIR-V module, which begins with 0x07230203", path);
    return words;
}

/// A row of a step names the sequence that a lane works for: kernels and references take that for an index.
void check_step(const NodeDump& dump, const std::string& name) {
    const int step = dump.call.op->step;
    if (step < 0 || !dump.call.has(step)) return;
    const HostTensor words = widen(dump.call.in(step), at(dump.inputs, step));
    const std::int64_t lanes = words.type.shape.elements() / STEP_WORDS;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const double shift = words[lane * STEP_WORDS + STEP_SHIFT];
        const auto sequence = static_cast<std::uint32_t>(lane + static_cast<std::int64_t>(shift));
        if (sequence >= lanes)
            throw bad_file_error("{}: row {} of the step is of sequence {}, wanted one of {}", name, lane, sequence,
                                 lanes);
    }
}

/// Choices of experts are indices, too.
void check_experts(const NodeDump& dump, const std::string& name) {
    using namespace ops::expert_linear;
    if (dump.call.op != &expert_linear_op) return;
    const auto values = [&](int operand) { return widen(dump.call.in(operand), at(dump.inputs, operand)).data; };
    const std::vector<double> index = values(index_), slots = values(slots_);
    const auto choices = static_cast<double>(index.size()), experts = static_cast<double>(dump.call.in(w_).shape[0]);
    const auto require = [&](bool holds, int operand) {
        if (!holds)
            throw bad_file_error("{}: {} has a number that is outside of {} choices among {} experts", name,
                                 in_quotes(dump.call.op->operands[static_cast<std::size_t>(operand)]), index.size(),
                                 dump.call.in(w_).shape[0]);
    };
    for (std::size_t i = 0; i < index.size(); ++i)
        require(slots[i] < 0 || (index[i] >= 0 && index[i] < experts && slots[i] < choices), index_);
    for (const double choice : values(order_)) require(choice >= 0 && choice < choices, order_);
    double last = 0;
    for (const double offset : values(offsets_)) require(offset >= last && offset <= choices, offsets_), last = offset;
}

}  // namespace

std::string this_build() {
    const BuildFacts& facts = build_facts();
    return format("{} ({}), {}, glslang {}", facts.version, facts.commit, facts.compiler, facts.glslang);
}

std::vector<HostTensor> inputs_of(const NodeDump& dump) {
    std::vector<HostTensor> tensors;
    for (std::size_t i = 0; i < dump.call.inputs.size(); ++i) {
        const std::optional<TensorType>& type = dump.call.inputs[i];
        tensors.push_back(type ? widen(*type, dump.inputs[i]) : HostTensor());
    }
    return tensors;
}

std::vector<HostTensor> results_of(const NodeDump& dump) {
    std::vector<HostTensor> tensors;
    for (std::size_t i = 0; i < dump.call.outputs.size(); ++i)
        tensors.push_back(widen(dump.call.outputs[i], dump.results[i]));
    return tensors;
}

void write_dump(const NodeDump& dump, const std::string& folder) {
    if (dump.call.op->custom != nullptr)
        throw unsupported_error("{} is a custom kernel, whose reference is not in Vantage: it cannot be replayed",
                                dump.node);
    FolderWriter files(folder);
    write_file(files.file(list_name), dump_json(dump).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    write_safetensors(files.file(tensors_name), tensors_of(dump));
    for (const auto& [name, code] : dump.modules) write_file(files.file(name + ".spv"), std::as_bytes(std::span(code)));
    files.finish();
}

NodeDump read_dump(const std::string& folder) {
    const std::string list = folder + "/" + list_name;
    const Json tree = read_json(list, max_list_bytes);
    const JsonFields fields(tree, list);
    fields.integer("schema_version", 1, 1);
    NodeDump dump{.node = fields.text("node"), .call = read_call(fields), .kernel = fields.text("kernel")};
    const SafeTensors tensors(folder + "/" + tensors_name);
    for (std::size_t i = 0; i < dump.call.inputs.size(); ++i)
        dump.inputs.push_back(dump.call.inputs[i]
                                  ? read_tensor(tensors, dump.call.op->operands[i], *dump.call.inputs[i])
                                  : TensorBytes());
    check_step(dump, tensors.name());
    check_experts(dump, tensors.name());
    for (std::size_t i = 0; i < dump.call.outputs.size(); ++i)
        dump.results.push_back(read_tensor(tensors, result_name(i), dump.call.outputs[i]));
    for (std::size_t i = 0; i < fields.list("launches").size(); ++i) {
        dump.launches.push_back(read_launch(fields.element("launches", i)));
        const std::string& module = dump.launches.back().module;
        if (!dump.modules.contains(module)) dump.modules[module] = read_module(folder + "/" + module + ".spv");
    }
    dump.device = caps_from_json(fields.object("device").json().dump());
    dump.build = fields.text("build");
    dump.finding = fields.text("finding");
    return dump;
}

}  // namespace vantage::internal
