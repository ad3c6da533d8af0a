// Operands and options of one case.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/conform/oracle_cases.h"

namespace vantage::internal {

/// A case of the file.
struct OracleSource {
    std::string file, name, op;
    Json attrs;
    std::map<std::string, HostTensor> inputs, outputs;
};

class OracleReader {
public:
    OracleReader(const OracleSource& source, DType storage)
        : source_(source), attrs_(source.attrs, source.file + ": case " + source.name), storage_(storage) {}

    const std::string& op() const { return source_.op; }
    DType storage() const { return storage_; }

    bool flag(const std::string& key, bool default_value) {
        return read(key).optional_flag(key).value_or(default_value);
    }
    std::int64_t integer(const std::string& key, std::int64_t default_value) {
        constexpr std::int64_t most = 1 << 24;  // a stranger's case may not take all memory
        return read(key).optional_integer(key, -most, most).value_or(default_value);
    }
    double number(const std::string& key, double default_value) {
        return read(key).optional_number(key).value_or(default_value);
    }
    /// Throws bad_file for a table of more than 2^26 elements, which no test needs.
    void require_table(double rows, double columns) {
        constexpr double max_elements = 1 << 26;
        if (!(rows * std::max(columns, 1.0) < max_elements))
            throw bad_file_error("{}: a table of {:g} x {:g} elements is too large", op(), rows, columns);
    }
    std::string text(const std::string& key, const std::string& default_value) {
        return read(key).optional_text(key).value_or(default_value);
    }
    /// An option that is an object; nullptr if it is absent or null.
    const Json* object(const std::string& key) { return read(key).has(key) ? &attrs_.object(key).json() : nullptr; }

    /// An option that is a list; nullptr if it is absent or null.
    const Json* list(const std::string& key) { return read(key).has(key) ? &attrs_.json()[key] : nullptr; }

    bool has(const std::string& input) const { return source_.inputs.count(input) != 0; }
    /// An operand, rounded to the storage type.
    HostTensor floats(const std::string& name);
    /// The same; an empty tensor if the case does not have the operand.
    HostTensor optional_floats(const std::string& name);
    /// An operand that keeps its type: integers, tables.
    const HostTensor& exact(const std::string& name);

    bool wants(const std::string& output) const { return source_.outputs.count(output) != 0; }
    /// An expected result, not rounded.
    HostTensor wanted(const std::string& output);
    /// The same, of this shape: what reads parts of a tensor must know its sizes.
    HostTensor wanted(const std::string& output, const Shape& shape);

    /// Declares that the op supports only f32.
    void f32_only() { f32_only_ = true; }
    bool is_f32_only() const { return f32_only_; }

    /// Options and operands that were not read: "option window_left", "operand mask". Results that are not checked.
    std::string unread() const;
    std::vector<std::string> unchecked() const;

private:
    const JsonFields& read(const std::string& key) { return read_attrs_.insert(key), attrs_; }
    [[noreturn]] void fail(const std::string& what) const;

    const OracleSource& source_;
    const JsonFields attrs_;
    DType storage_;
    bool f32_only_ = false;
    std::set<std::string> read_attrs_, read_inputs_, read_outputs_;
};

}  // namespace vantage::internal
