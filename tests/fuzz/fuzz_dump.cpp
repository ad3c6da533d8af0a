// read_dump on an arbitrary dispatch.json and operands.safetensors, separated by a NUL byte, in a folder with one module
// (elementwise). What is accepted has operands and results of the sizes that the call has; small calls are given to the
// reference, which must bear any contents.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/spirv.h"
#include "runtime/exec/node_dump.h"
#include "tests/fuzz/folder.h"

namespace {

using namespace vantage::internal;

bool is_small(const vantage::OpCall& call) {
    std::int64_t elements = 0;
    for (const auto& type : call.inputs) elements += type ? type->shape.elements() : 0;
    for (const vantage::TensorType& type : call.outputs) elements += type.shape.elements();
    return elements < 4096;
}

void check(const NodeDump& dump) {
    const vantage::OpCall& call = dump.call;
    require(dump.inputs.size() == call.inputs.size() && dump.results.size() == call.outputs.size());
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        require(dump.inputs[i].size() == (call.inputs[i] ? call.inputs[i]->bytes() : 0));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) require(dump.results[i].size() == call.outputs[i].bytes());
    for (const DumpedLaunch& launch : dump.launches) require(dump.modules.contains(launch.module));
    if (!is_small(call)) return;
    require(results_of(dump).size() == run_reference(call, inputs_of(dump)).size());
}

struct Dump : Folder {
    Dump() {
        const auto code = std::as_bytes(find_spirv("elementwise")->code);
        write("elementwise.spv", {reinterpret_cast<const char*>(code.data()), code.size()});
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Dump folder;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    folder.write("dispatch.json", bytes.substr(0, end));
    folder.write("operands.safetensors", bytes.substr(std::min(end + 1, bytes.size())));
    try {
        check(read_dump(folder.path()));
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file || error.kind() == vantage::ErrorKind::usage);
        require_message(error);
    }
    return 0;
}
