// A JSON schema as a document: its keywords, references and places for messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/jinja/print.h"

namespace vantage::text::grammar {

using Schema = jinja::OrderedJson;

/// What a keyword is about. `general` keywords are about values of all types.
enum class KeywordKind : std::uint8_t { annotation, general, string, number, array, object };

/// Refers to the document, which must outlive it. All throw usage with the JSON pointer of the place.
class SchemaTree {
public:
    /// `left_out`: takes the keywords that are not supported, which then demand nothing; otherwise they are an error.
    explicit SchemaTree(const Schema& root, std::vector<std::string>* left_out = nullptr);

    const Schema& root() const { return *root_; }
    [[noreturn]] void fail(const Schema& at, const std::string& what) const;
    /// A keyword that is not supported, or not there or with its value, as `what` says: fails or leaves it out.
    void leave_out(const Schema& at, std::string_view keyword, const std::string& what) const;

    /// Nothing if the keyword is absent. Each throws if its value is of another kind.
    const Schema* find(const Schema& schema, std::string_view keyword) const;
    const Schema* find_list(const Schema& schema, std::string_view keyword) const;
    std::optional<std::string> find_text(const Schema& schema, std::string_view keyword) const;
    /// From 0 to most_repetitions.
    std::optional<std::int64_t> find_count(const Schema& schema, std::string_view keyword) const;
    const Schema* find_number(const Schema& schema, std::string_view keyword) const;
    const Schema* find_object(const Schema& schema, std::string_view keyword) const;
    std::vector<std::string> texts(const Schema& schema, std::string_view keyword) const;

    /// Throws unless it is an object of keywords that are known, or leaves the others out.
    void check_keywords(const Schema& schema) const;
    /// Leaves out the keywords of this kind that we don't support.
    void leave_out_unsupported(const Schema& schema, KeywordKind kind) const;
    /// Leaves out what stands beside `keyword` but annotations and those in `allowed`.
    void leave_out_others(const Schema& schema, std::string_view keyword,
                          std::vector<std::string_view> allowed = {}) const;
    static bool is_annotation(std::string_view keyword);
    bool has_kind(const Schema& schema, KeywordKind kind) const;

    /// Where a schema's $ref leads.
    const Schema& target(const Schema& schema) const;

private:
    void check_depth(const Schema& json, int depth) const;
    static bool find_path(const Schema& from, const Schema& wanted, std::string& path);
    [[noreturn]] void fail_value(const Schema& schema, std::string_view keyword, std::string_view wanted) const;

    const Schema* root_;
    std::vector<std::string>* left_out_;
};

}  // namespace vantage::text::grammar
