// What a Grammar holds, for the runtime.
#pragma once

#include <memory>
#include <utility>

#include "runtime/text/grammar/rules.h"
#include "vantage/grammar.h"

namespace vantage::internal {

struct GrammarAccess {
    static const std::shared_ptr<const text::grammar::Network>& network(const Grammar& grammar) {
        return grammar.network_;
    }
    static Grammar grammar(text::grammar::Network network) { return Grammar(std::move(network)); }
    static bool same(const Grammar& a, const Grammar& b) { return a.network_ == b.network_; }
};

}  // namespace vantage::internal
