#include "runtime/text/grammar/matcher.h"

#include <algorithm>
#include <set>

#include "runtime/base/errors.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

constexpr std::uint32_t deepest = 256;       // calls within calls; deeper ones are not followed
constexpr std::size_t most_places = 4096;    // of a state
constexpr std::size_t most_work = 1u << 22;  // of a search: places

std::size_t hash_of(std::uint64_t seed, std::uint64_t value) {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(seed ^ (value + golden + (seed << 6) + (seed >> 2)));
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Network> network) : network_(std::move(network)) {
    find_classes();
    forget();
}

void Matcher::forget() {
    places_.assign(1, {});
    may_end_.assign(1, false);
    next_.assign(classes_, dead);
    plain_.assign(1, std::optional<State>(dead));
    calls_.assign(1, {});
    call_ids_.clear();
    state_ids_.clear();
    held_ = work_ = 0;
    start_ = state_of({{network_->start, 0}});
}

// The calls below a place are the only ones that are known then; the lowest one is made first.
Matcher::State Matcher::forget_but(State kept) {
    const std::vector<Call> calls = calls_;
    std::vector<Place> places = places_[kept];
    const bool ends = may_end_[kept];
    forget();
    if (kept == dead) return dead;
    std::unordered_map<std::uint32_t, std::uint32_t> renamed{{0, 0}};
    std::vector<std::uint32_t> chain;
    for (Place& place : places) {
        for (std::uint32_t call = place.call; !renamed.contains(call); call = calls[call].below) chain.push_back(call);
        for (; !chain.empty(); chain.pop_back())
            renamed[chain.back()] = call_of(calls[chain.back()].after, renamed.at(calls[chain.back()].below));
        place.call = renamed.at(place.call);
    }
    std::ranges::sort(places);
    return state_named(std::move(places), ends);
}

void Matcher::count_work(std::size_t more) {
    if ((work_ += more) > most_work) throw usage_error("grammar: it is too ambiguous for this text");
}

void Matcher::find_classes() {
    std::array<bool, 257> begins{};
    for (const Network::Node& node : network_->nodes)
        for (const Network::ByteRange& range : node.ranges) begins[range.first] = begins[range.last + 1u] = true;
    std::size_t last = 0;
    for (std::size_t byte = 0; byte < class_of_.size(); ++byte) {
        if (byte > 0 && begins[byte]) ++last;
        class_of_[byte] = static_cast<std::uint8_t>(last);
    }
    classes_ = last + 1;
}

Matcher::State Matcher::make_step(State from, std::uint8_t byte) {
    std::vector<Place> reached;
    for (const Place& place : places_[from]) {
        const std::vector<Network::ByteRange>& ranges = network_->nodes[place.node].ranges;
        count_work(ranges.size());
        for (const Network::ByteRange& range : ranges)
            if (range.first <= byte && byte <= range.last) reached.push_back({range.to, place.call});
    }
    const State to = state_of(std::move(reached));
    return next_[from * classes_ + class_of_[byte]] = to;
}

// A call whose return is followed by the end of the calling rule only needs no place of its own: the text returns to
// where that one returns to. So lists that are written as recursion need no depth.
std::uint32_t Matcher::call_of(std::uint32_t after, std::uint32_t below) {
    const Network::Node* node = &network_->nodes[after];
    while (node->kind == Network::Node::ways && node->to.size() == 1) node = &network_->nodes[node->to.front()];
    if (node->kind == Network::Node::end) return below;
    const std::uint64_t key = std::uint64_t{after} << 32 | below;
    const auto [known, is_new] = call_ids_.try_emplace(key, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) calls_.push_back({after, below, calls_[below].depth + 1});
    return known->second;
}

// All that can be reached without a byte. `reached` also holds what has been seen.
Matcher::State Matcher::state_of(std::vector<Place> reached) {
    bool ends = false;
    std::set<Place> seen(reached.begin(), reached.end());
    std::vector<Place> takes_bytes;
    const auto visit = [&](Place place) {
        if (seen.insert(place).second) reached.push_back(place);
    };
    while (!reached.empty()) {
        if (seen.size() > most_places) throw usage_error("grammar: it is too ambiguous for this text");
        count_work(1);
        const Place place = reached.back();
        reached.pop_back();
        const Network::Node& node = network_->nodes[place.node];
        switch (node.kind) {
            case Network::Node::bytes: takes_bytes.push_back(place); break;
            case Network::Node::ways:
                for (const std::uint32_t to : node.to) visit({to, place.call});
                break;
            case Network::Node::call:
                if (calls_[place.call].depth < deepest) visit({node.rule, call_of(node.after, place.call)});
                break;
            case Network::Node::end:
                if (place.call == 0)
                    ends = true;
                else
                    visit({calls_[place.call].after, calls_[place.call].below});
        }
    }
    if (takes_bytes.empty() && !ends) return dead;
    std::ranges::sort(takes_bytes);
    const auto equal = std::ranges::unique(takes_bytes);
    takes_bytes.erase(equal.begin(), equal.end());
    return state_named(std::move(takes_bytes), ends);
}

Matcher::State Matcher::state_named(std::vector<Place> takes_bytes, bool ends) {
    std::size_t hash = ends ? 1 : 0;
    for (const Place& place : takes_bytes) hash = hash_of(hash, std::uint64_t{place.node} << 32 | place.call);
    const auto [first, last] = state_ids_.equal_range(hash);
    for (auto known = first; known != last; ++known)
        if (places_[known->second] == takes_bytes && may_end_[known->second] == ends) return known->second;
    const auto made = static_cast<State>(places_.size());
    state_ids_.emplace(hash, made);
    held_ += takes_bytes.size();
    places_.push_back(std::move(takes_bytes));
    may_end_.push_back(ends);
    next_.resize(next_.size() + classes_, unknown);
    plain_.emplace_back();
    return made;
}

// Every character of one to four bytes, but by the classes of its bytes and where they lead.
std::optional<Matcher::State> Matcher::after_any_plain_char(State from) {
    if (plain_[from]) return *plain_[from];
    struct Lead {
        unsigned first, last, second_first, second_last, more;
    };
    static constexpr Lead leads[] = {
        {0x20, 0x21, 0, 0, 0},       {0x23, 0x5B, 0, 0, 0},       {0x5D, 0x7F, 0, 0, 0},
        {0xC2, 0xDF, 0x80, 0xBF, 1}, {0xE0, 0xE0, 0xA0, 0xBF, 2}, {0xE1, 0xEC, 0x80, 0xBF, 2},
        {0xED, 0xED, 0x80, 0x9F, 2}, {0xEE, 0xEF, 0x80, 0xBF, 2}, {0xF0, 0xF0, 0x90, 0xBF, 3},
        {0xF1, 0xF3, 0x80, 0xBF, 3}, {0xF4, 0xF4, 0x80, 0x8F, 3}};
    std::optional<State> common = step(from, std::uint8_t{' '});
    const auto all_lead_to = [&](auto&& self, State at, unsigned first, unsigned last, unsigned more) -> bool {
        std::optional<State> before;
        for (unsigned byte = first; byte <= last; ++byte) {
            const State to = step(at, static_cast<std::uint8_t>(byte));
            if (to == before) continue;
            before = to;
            if (more == 0 || to == dead ? to != common : !self(self, to, 0x80, 0xBF, more - 1)) return false;
        }
        return true;
    };
    for (const Lead& lead : leads) {
        for (unsigned byte = lead.first; common && byte <= lead.last; ++byte) {
            const State to = step(from, static_cast<std::uint8_t>(byte));
            const bool same = lead.more == 0 || to == dead
                                  ? to == common
                                  : all_lead_to(all_lead_to, to, lead.second_first, lead.second_last, lead.more - 1);
            if (!same) common.reset();
        }
    }
    plain_[from] = common;
    return common;
}

}  // namespace vantage::text::grammar
