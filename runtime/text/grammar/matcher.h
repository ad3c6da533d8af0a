// Where a text stands in a grammar, and which bytes may follow.
//
// A state is the set of all places in the network where the text may be, each with the calls it has to return from.
// Equal states are made once and remember where each byte leads, so that after a while a step is a look into a table:
// the subset construction of finite automata, made as far as texts go, over nodes with stacks.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/text/grammar/rules.h"

namespace vantage::text::grammar {

class Matcher {
public:
    using State = std::uint32_t;
    static constexpr State dead = 0;  ///< no text goes on from here

    explicit Matcher(std::shared_ptr<const Network> network);

    State start() const { return start_; }
    /// After another byte.
    State step(State from, std::uint8_t byte) {
        const State known = next_[from * classes_ + class_of_[byte]];
        return known != unknown ? known : make_step(from, byte);
    }
    State step(State from, std::string_view bytes) {
        for (const char byte : bytes) from = step(from, static_cast<std::uint8_t>(byte));
        return from;
    }
    /// Whether the text may end here, and whether it may go on.
    bool may_end(State state) const { return may_end_[state]; }
    bool may_go_on(State state) const { return !places_[state].empty(); }
    /// The state that each character leads to that stands for itself in a JSON string (U+0020 on, but " and \), if it
    /// is the same; `dead` if there is none.
    std::optional<State> after_any_plain_char(State from);

    /// Steps until the next call of it throw usage where they take more work than a text is worth.
    void begin_search() { work_ = 0; }
    /// Whether so much is known that it should be forgotten.
    bool is_full() const { return places_.size() > 1u << 14 || held_ > 1u << 20 || calls_.size() > 1u << 18; }
    /// Makes all states invalid but the start, and this one, whose new name it returns.
    State forget_but(State kept);

private:
    // A place in the network, and the call that it returns to; call 0 is none.
    struct Place {
        std::uint32_t node, call;
        auto operator<=>(const Place&) const = default;
    };
    struct Call {
        std::uint32_t after, below;
        std::uint32_t depth;
    };
    static constexpr State unknown = std::numeric_limits<State>::max();

    void find_classes();
    void forget();
    State make_step(State from, std::uint8_t byte);
    State state_of(std::vector<Place> reached);
    State state_named(std::vector<Place> takes_bytes, bool ends);
    std::uint32_t call_of(std::uint32_t after, std::uint32_t below);

    std::shared_ptr<const Network> network_;
    std::array<std::uint8_t, 256> class_of_{};  // bytes that no range tells apart
    std::size_t classes_ = 1;
    State start_ = dead;
    std::vector<std::vector<Place>> places_;  // by state: the nodes that take bytes
    std::vector<bool> may_end_;
    std::vector<State> next_;  // by state and class
    std::vector<std::optional<std::optional<State>>> plain_;
    std::vector<Call> calls_;
    std::size_t held_ = 0;  // places of all states
    std::size_t work_ = 0;  // places and ranges that were looked at since the search began
    void count_work(std::size_t more);
    std::unordered_map<std::uint64_t, std::uint32_t> call_ids_;
    std::unordered_multimap<std::size_t, State> state_ids_;
};

}  // namespace vantage::text::grammar
