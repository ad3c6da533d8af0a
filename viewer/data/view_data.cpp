#include "viewer/data/view_data.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/gpu/queue.h"
#include "viewer/data/exact_weights.h"
#include "viewer/data/factors.h"
#include "viewer/data/head_board.h"
#include "viewer/data/histogram.h"
#include "viewer/data/slot_tables.h"
#include "viewer/data/tiles.h"

namespace vantage::view {

namespace {

constexpr double seconds_unwatched = 0.1;  // of a batch when no frame is waited for

/// The first slot that differs in `now`; none if `now` only has more slots.
std::optional<std::int64_t> first_changed(const Slots& before, const Slots& now) {
    if (before == now) return std::nullopt;
    if (before.plain() || now.plain()) return 0;
    const auto [a, b] = std::ranges::mismatch(before.before, now.before);
    if (a == before.before.end()) return std::nullopt;  // more than before
    return std::max<std::int64_t>(a - before.before.begin() - 1, 0);
}

std::int64_t max_keys(const ViewSources& sources) {
    std::int64_t max_slot = 1;
    for (const ViewSources::Layer& layer : sources.layers()) max_slot = std::max<std::int64_t>(max_slot, layer.sizes.m);
    return max_slot;
}

const Slots plain_slots;

/// The parts of a view that its data depends on.
struct Asked {
    Wanted wanted;
    KeyAxis axis;
    Modifiers modifiers;
    std::optional<std::int64_t> rows;
    std::uint64_t slots;
    bool operator==(const Asked&) const = default;
};

}  // namespace

struct ViewData::State {
    LiveModel& live;
    ViewDataOptions options;
    gpu::DeviceState& device;
    ViewSources sources;
    ViewWork work;
    Tiles tiles;
    Factors factors;
    HeadBoard board;
    HoveredWeight hovered_weight;
    Histogram histogram;
    ExcerptReader excerpts, reader;
    MapRing maps, mini_maps;
    SlotTables tables;
    SideSlots slots;
    std::optional<SideSlots> next_slots;
    Budget budget;
    LiveTokens tokens;
    FrameData frame;
    ViewCounts counts;
    std::optional<Asked> asked;  // by the last update
    AttentionKind focus = AttentionKind::self;
    std::size_t next_mini = 0;
    TileRange range{};             // of the map
    params::ViewTileMap drawn{};   // the map
    const State* other = nullptr;  // whose cells are subtracted before they are counted
    double max_difference = 1;
    std::vector<std::uint32_t> words;  // of the map
    std::vector<std::uint32_t> mini_words;

    State(LiveModel& l, const ViewDataOptions& o)
        : live(l),
          options(o),
          device(l.model().device().state()),
          sources(l),
          work(device),
          tiles(device, static_cast<std::size_t>(o.tiles) + l.heads().size()),
          factors(device, l),
          board(device, l, sources),
          hovered_weight(device),
          histogram(device),
          excerpts(device, max_numbers, "view.numbers"),
          reader(device, max_keys(sources), "view.read"),
          maps(device, "view.map"),
          mini_maps(device, "view.mini_maps"),
          tables(device, o.max_slots),
          budget(o.budget_percent) {
        gpu::pipeline(device, {.module = "view_pool", .spec = {workgroup_size(device.caps(), 64)}});
    }

    int number_of(const HeadId& head) const {
        return static_cast<int>(std::ranges::find(live.heads(), head) - live.heads().begin());
    }
    Extent extent_of(const HeadId& head, const ViewState& state, KeyAxis axis) const {
        const Slots &own_rows = slots.rows_of(head.kind), &own_keys = slots.keys_of(head.kind);
        const auto slots_of = [&](const Slots& some, std::int64_t own) -> std::int64_t {
            if (some.plain()) return own;
            return slots.run == frame.version.run ? std::ssize(some.before) - 1 : 0;
        };
        const std::int64_t all = slots_of(own_rows, frame.version.rows_of(head.kind)),
                           rows = travels(head.kind) ? std::min(state.rows.value_or(all), all) : all,
                           keys = head.kind == AttentionKind::self
                                      ? rows
                                      : slots_of(own_keys, frame.version.keys_of(head.kind));
        return {.rows = rows,
                .keys = keys,
                .own_rows = own_rows.tokens_before(rows),
                .own_keys = own_keys.tokens_before(keys),
                .relative = axis == KeyAxis::relative,
                .causal = sources.of(head).causal,
                .row_slots = tables.rows_of(head.kind),
                .key_slots = tables.keys_of(head.kind)};
    }

    /// Going back in time is in one text: that of the rows of the head in focus.
    bool travels(AttentionKind kind) const {
        return (kind == AttentionKind::encoder) == (focus == AttentionKind::encoder);
    }
    ShownRows shown_rows(const ViewState& state) const {
        ShownRows shown{frame.version.rows, frame.version.source_rows};
        std::int64_t& own = focus == AttentionKind::encoder ? shown.source : shown.own;
        if (state.rows) own = std::min(own, slots.rows_of(focus).tokens_before(*state.rows));
        return shown;
    }

    /// Viewing does not slow down an idle model.
    double seconds_to_refine() const {
        const Activity now = live.version().activity;
        const bool rests = now != Activity::reading && now != Activity::writing && now != Activity::learning;
        if (!rests || budget.percent()) return options.refine_seconds;
        return device.caps().is_cpu() ? 0.05 : 0.008;  // the longest that a picture waits
    }

    void collect();
    void read_version();
    void take_slots();
    void ask(const Wanted& wanted, const Extent& extent);
    void show_map(const ViewState& state, const Wanted& wanted, const Extent& extent);
    void read_tile(std::uint32_t word, std::int64_t row, std::int64_t column, MapCells& map) const;
    void read_weights(const Wanted& wanted, const Extent& extent, const Look& look);
    void count_values(const ViewState& state, const Wanted& wanted, const Extent& extent, std::uint32_t look);
    void show_mini_maps(const ViewState& state, const Wanted& wanted);
    const FrameData& update(const ViewState& state, const Wanted& wanted, double seconds, bool newest);
};

// Takes the results of a finished batch.
void ViewData::State::collect() {
    if (!work.idle()) return;
    const bool numbers = board.collect(), read = hovered_weight.collect(), counted = histogram.collect(),
               few = excerpts.collect(), row = reader.collect(), lengths = factors.collect();
    frame.changed = frame.changed || numbers || read || counted || few || row || lengths;
}

void ViewData::State::read_version() {
    const Version version = live.version();
    frame.changed = frame.changed || version.number != frame.version.number;
    if (version.run != frame.version.run) tiles.clear();
    frame.version = version;
    live.read_tokens(tokens);
    if (tokens.run != version.run) frame.version.rows = frame.version.source_rows = 0;  // another began in between
}

// Causal heads keep the rows before the first changed slot; for others every row may have changed.
void ViewData::State::take_slots() {
    if (!next_slots || work.in_flight()) return;
    const auto own = first_changed(slots.own, next_slots->own),
               source = first_changed(slots.source, next_slots->source);
    const bool causal = std::ranges::all_of(sources.layers(), &ViewSources::Layer::causal);
    if (source || (own && !causal))
        tiles.clear();
    else if (own)
        tiles.cut(*own);
    frame.changed = frame.changed || own || source || next_slots->number != slots.number;
    slots = std::move(*next_slots);
    next_slots.reset();
    tables.write(slots);
    frame.slots = slots.number;
}

// Asks for the cell under the mouse, unless it is known.
void ViewData::State::ask(const Wanted& wanted, const Extent& extent) {
    if (!wanted.under_mouse || !work.open()) return;
    const auto [query, key] = *wanted.under_mouse;
    if (query < 0 || key < 0 || query >= extent.own_rows || key >= extent.own_keys) return;
    const std::optional<CellReading>& known = hovered_weight.reading();
    if (known && known->head == wanted.head && known->query == query && known->key == key &&
        known->run == frame.version.run)
        return;
    hovered_weight.ask(wanted.head, sources.of(wanted.head), query, key, extent, frame.version.run, work);
}

// Computes visible tiles and writes the map of those that exist. The batch runs before the frame.
void ViewData::State::show_map(const ViewState& state, const Wanted& wanted, const Extent& extent) {
    const ViewSources::Layer& layer = sources.of(wanted.head);
    const bool grows = frame.version.activity == Activity::reading || frame.version.activity == Activity::writing;
    Look look = factors.advance(wanted.head, layer, state.modifiers, extent, frame.version.run, grows, work);
    read_weights(wanted, extent, look);
    look.rows_ready =
        look.rows_ready < extent.own_rows ? slots.rows_of(wanted.head.kind).slot_of(look.rows_ready) : extent.rows;
    const int level = level_for(wanted, extent, std::min(options.tiles, max_map_words));
    range = tiles_of(wanted.part, extent, level);
    std::vector<TileKey> keys;
    for (std::int64_t row = range.first_row; row < range.last_row; ++row)
        for (std::int64_t column = range.first_column; column < range.last_column; ++column)
            keys.push_back({number_of(wanted.head), level, row, column, extent.relative, look.number});
    std::vector<TileKey> order;
    std::ranges::copy_if(keys, std::back_inserter(order), [&](const TileKey& key) { return extent.holds(key); });
    std::ranges::stable_sort(order, std::greater(), [&](const TileKey& key) { return visible_area(key, wanted.part); });
    double there = 0;
    for (const TileKey& key : order) {
        tiles.advance(key, wanted.head, layer, extent, look, work, counts.updates);
        there += tiles.progress(key, extent);
    }
    words.clear();
    for (const TileKey& key : keys) words.push_back(extent.holds(key) ? tiles.word(key, extent, counts.updates) : 0);
    drawn = {.pool = address_words(tiles.pool_address()),
             .level = u32(level),
             .first_tile_row = u32(range.first_row),
             .first_tile_column = u32(range.first_column),
             .tile_rows = u32(range.rows()),
             .tile_columns = u32(range.columns()),
             .rows = u32(extent.rows),
             .columns = u32(extent.columns()),
             .hidden = extent.causal                       ? MAP_FUTURE
                       : extent.relative && extent.plain() ? MAP_CORNERS
                                                           : 0u};
    frame.map = {.address = maps.write(drawn, words),
                 .level = level,
                 .progress = order.empty() ? 1 : there / static_cast<double>(order.size())};
    count_values(state, wanted, extent, look.number);
}

void ViewData::State::read_weights(const Wanted& wanted, const Extent& extent, const Look& look) {
    const ViewSources::Layer& layer = sources.of(wanted.head);
    Excerpt some{.head = wanted.head, .run = frame.version.run};
    // in tokens of this text
    Extent own_extent = extent;
    own_extent.rows = extent.own_rows, own_extent.keys = extent.own_keys;
    own_extent.row_slots = own_extent.key_slots = {};
    if (wanted.reader && *wanted.reader >= 0 && *wanted.reader < own_extent.rows) {
        some.first_row = *wanted.reader, some.rows = 1;
        some.columns = extent.causal ? *wanted.reader + 1 : own_extent.keys;
        Extent by_key = own_extent;
        by_key.relative = false;
        reader.ask(some, layer, by_key, look, work);
    } else {
        reader.rest();
    }
    // A column by distance is the same for all texts, unless it is counted from the last key.
    if (wanted.numbers && (extent.plain() || extent.causal || !extent.relative)) {
        const auto whole = [](double slot, std::int64_t max_slot, const Slots& of) {
            return of.tokens_before(std::clamp<std::int64_t>(static_cast<std::int64_t>(slot), 0, max_slot));
        };
        const Slots &row_slots = slots.rows_of(wanted.head.kind),
                    &column_slots = extent.relative ? plain_slots : slots.keys_of(wanted.head.kind);
        some.axis = extent.relative ? KeyAxis::relative : KeyAxis::absolute;
        some.first_row = whole(wanted.numbers->first_row, extent.rows, row_slots);
        some.first_column = whole(wanted.numbers->first_column, extent.columns(), column_slots);
        some.rows = whole(wanted.numbers->last_row, extent.rows, row_slots) - some.first_row;
        some.columns = whole(wanted.numbers->last_column, extent.columns(), column_slots) - some.first_column;
    }
    if (wanted.numbers && some.rows > 0 && some.columns > 0 && some.rows * some.columns <= max_numbers)
        excerpts.ask(some, layer, own_extent, look, work);
    else
        excerpts.rest();
    const auto own = [&](const ExcerptReader& from) {
        const auto& known = from.excerpt();
        return known && known->head == wanted.head && known->run == frame.version.run ? known : nullptr;
    };
    frame.read = own(reader), frame.numbers = own(excerpts);
}

// Counts the visible cells along the colour bar; last, after the batch's tiles.
void ViewData::State::count_values(const ViewState& state, const Wanted& wanted, const Extent& extent,
                                   std::uint32_t look) {
    frame.counts.reset();
    const bool both = other != nullptr && other->frame.slots == frame.slots &&
                      other->frame.map.level == frame.map.level && other->frame.map.progress == 1 &&
                      frame.map.progress == 1;
    if (other != nullptr ? !both : !extent.plain())  // cells of gaps would count as weights
        return histogram.ask_nothing();
    const double size = std::exp2(drawn.level);
    const auto cells = [&](double first, double last, std::int64_t there) {
        const double max_slot = std::ceil(static_cast<double>(there) / size);
        const double begin = std::clamp(std::floor(first / size), 0.0, max_slot);
        return std::pair{static_cast<std::uint32_t>(begin),
                         static_cast<std::uint32_t>(std::clamp(std::ceil(last / size), begin, max_slot) - begin)};
    };
    const auto [first_row, rows] = cells(wanted.part.first_row, wanted.part.last_row, extent.rows);
    const auto [first_column, columns] = cells(wanted.part.first_column, wanted.part.last_column, extent.columns());
    constexpr double smallest = 1e-4;  // of differences
    histogram.ask(
        drawn, both ? other->drawn : drawn,
        {.run = frame.version.run,
         .head = wanted.head,
         .look = look,
         .rows = extent.rows,
         .level = static_cast<int>(drawn.level),
         .relative = extent.relative,
         .pooling = state.pooling,
         .scale = both ? AttentionScale::logarithmic : state.scale,
         .range = both ? ValueRange{smallest * max_difference, max_difference} : wanted.counted.value_or(state.range),
         .part = {first_row, first_column, rows, columns},
         .words = words,
         .minus_words = both ? other->words : std::vector<std::uint32_t>()},
        work);
    frame.counts = histogram.counts();
}

void ViewData::State::show_mini_maps(const ViewState& state, const Wanted& wanted) {
    frame.mini_maps = {};
    frame.mini_map_shapes.assign(live.heads().size(), {});
    if (!wanted.mini_maps) return;
    const std::vector<HeadId>& heads = live.heads();
    Look plain{.row_factors = address_words(absent(sources.some_address()))};
    plain.key_factors = plain.distance_means = plain.row_factors;
    mini_words.assign(heads.size(), 0);
    double there = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const std::size_t number = (next_mini + i) % heads.size();
        const Extent extent = extent_of(heads[number], state, KeyAxis::absolute);
        int level = 0;
        while (TileKey{.level = level}.span() < std::max(extent.rows, extent.keys)) ++level;
        const TileKey key{.head = static_cast<int>(number), .level = level};
        frame.mini_map_shapes[number] = {std::ldexp(static_cast<double>(extent.rows), -level),
                                         std::ldexp(static_cast<double>(extent.keys), -level), extent.causal};
        if (extent.rows == 0) {
            there += 1;
            continue;
        }
        if (work.room(Work::tile) > 0)
            tiles.advance(key, heads[number], sources.of(heads[number]), extent, plain, work, counts.updates);
        mini_words[number] = tiles.word(key, extent, counts.updates);
        there += tiles.progress(key, extent);
    }
    next_mini = (next_mini + 1) % heads.size();
    frame.mini_maps = {
        .address = mini_maps.write(
            {.pool = address_words(tiles.pool_address()), .tile_rows = 1, .tile_columns = u32(heads.size())},
            mini_words),
        .progress = there / static_cast<double>(heads.size())};
}

// `seconds` of device time may be used; 0: none. `newest`: for the model's newest version, else for that of the last
// update.
const FrameData& ViewData::State::update(const ViewState& state, const Wanted& wanted, double seconds, bool newest) {
    ++counts.updates;
    frame.changed = false;
    collect();
    if (newest) read_version();
    take_slots();
    focus = wanted.head.kind;
    const Extent extent = extent_of(wanted.head, state, state.axis);
    const ShownRows shown = shown_rows(state);
    frame.rows = extent.rows, frame.columns = extent.columns(), frame.causal = extent.causal;
    board.follow(frame.version, shown);
    if (seconds > 0 && work.idle()) work.begin(seconds);
    ask(wanted, extent);
    // The focused map has priority. Statistics of all heads get every fourth batch, and batches that are otherwise
    // empty.
    const bool numbers_first = work.submissions() % 4 == 3;
    if (numbers_first) board.advance(tokens, frame.version, shown, work);
    show_map(state, wanted, extent);
    show_mini_maps(state, wanted);
    if (!numbers_first && work.empty()) board.advance(tokens, frame.version, shown, work);
    const bool worked = work.open() && !work.empty();
    work.submit();
    frame.changed = frame.changed || worked;
    frame.heads = board.numbers();
    frame.largest_value = factors.largest_value();
    frame.reading = hovered_weight.reading() && hovered_weight.reading()->run == frame.version.run
                        ? hovered_weight.reading()
                        : std::nullopt;
    const HeadMeans& own = at(frame.heads, number_of(wanted.head));
    frame.row_sum_error =
        own.rows > 0 && !std::isnan(own.worst_row_sum) ? std::optional(own.worst_row_sum) : std::nullopt;
    frame.rows_checked = frame.row_sum_error ? own.rows : 0;
    frame.off_rows = board.off_rows(static_cast<std::size_t>(number_of(wanted.head)));
    frame.busy = work.in_flight() || frame.map.progress < 1 || (wanted.mini_maps && frame.mini_maps.progress < 1) ||
                 board.incomplete(frame.version, shown) || next_slots || !histogram.current() || !excerpts.current() ||
                 !reader.current() || !factors.complete();
    return frame;
}

// Copies a tile's cells to their place in the map.
void ViewData::State::read_tile(std::uint32_t word, std::int64_t row, std::int64_t column, MapCells& map) const {
    const std::vector<float> cells = tiles.read(word);
    for (std::int64_t r = 0; r < std::min<std::int64_t>(TILE_CELLS, map.rows - row); ++r)
        for (std::int64_t c = 0; c < std::min<std::int64_t>(TILE_CELLS, map.columns - column); ++c) {
            const auto from = static_cast<std::size_t>(2 * (r * TILE_CELLS + c)),
                       to = static_cast<std::size_t>((row + r) * map.columns + column + c);
            map.mass[to] = cells[from], map.peak[to] = cells[from + 1];
        }
}

ViewData::ViewData(LiveModel& live, const ViewDataOptions& options) : state_(std::make_unique<State>(live, options)) {}
ViewData::~ViewData() { gpu::wait_idle(state_->device); }

const FrameData& ViewData::update(const ViewState& state, const Wanted& wanted, double now) {
    State& s = *state_;
    const double begin = seconds_now(), waited = gpu::seconds_waited();
    FrameData& frame = s.frame;
    const bool open = s.budget.open(now);
    if (const Asked asks{wanted, state.axis, state.modifiers, state.rows, s.slots.number}; open || s.asked != asks) {
        s.asked = asks;
    } else {
        frame.changed = false, frame.busy = true, frame.wake_in = s.budget.opens_in(now);
        return frame;
    }
    s.update(state, wanted, open ? s.seconds_to_refine() : 0, true);
    const double device = s.work.take_device_seconds(), host = seconds_now() - begin;
    s.budget.spend(now, device, host);
    if (gpu::seconds_waited() > waited) ++s.counts.waits;
    s.counts.device_seconds += device, s.counts.host_seconds += host;
    frame.cost_percent = s.budget.cost(now);
    frame.wake_in = frame.busy ? s.budget.opens_in(now) : 0;
    return frame;
}

double ValueCounts::quantile(double share) const {
    double all = static_cast<double>(below) + above;
    for (const std::uint32_t bin : bins) all += bin;
    double seen = below;
    std::size_t bin = 0;
    while (seen < share * all && bin < bins.size()) seen += bins[bin++];
    return static_cast<double>(value_at(static_cast<double>(bin) / static_cast<double>(bins.size()), range, scale));
}

void ViewData::subtract(const ViewData* other, double maximum) {
    state_->other = other != nullptr ? other->state_.get() : nullptr;
    state_->max_difference = maximum;
}

void ViewData::set_slots(const SideSlots& slots) {
    State& s = *state_;
    if (slots.number != (s.next_slots ? s.next_slots->number : s.slots.number)) s.next_slots = slots;
}

const FrameData& ViewData::finish(const ViewState& state, const Wanted& wanted, bool newest) {
    State& s = *state_;
    do {
        s.work.wait();
        s.update(state, wanted, seconds_unwatched, std::exchange(newest, false));
    } while (s.frame.busy);
    return s.frame;
}

MapCells ViewData::read_cells() {
    State& s = *state_;
    s.work.wait();
    const int level = s.frame.map.level;
    const std::int64_t size = std::int64_t{1} << level, first_row = s.range.first_row * TILE_CELLS,
                       first_column = s.range.first_column * TILE_CELLS;
    const auto cells = [&](std::int64_t tiles, std::int64_t first, std::int64_t there) {
        return std::max<std::int64_t>(std::min(tiles * TILE_CELLS, (there + size - 1) / size - first), 0);
    };
    MapCells map{.level = level,
                 .first_row = first_row * size,
                 .first_column = first_column * size,
                 .rows = cells(s.range.rows(), first_row, s.frame.rows),
                 .columns = cells(s.range.columns(), first_column, s.frame.columns)};
    map.mass.resize(static_cast<std::size_t>(map.rows * map.columns));
    map.peak.resize(map.mass.size());
    for (std::size_t i = 0; i < s.words.size(); ++i)
        if (s.words[i] != 0)
            s.read_tile(s.words[i], static_cast<std::int64_t>(i) / s.range.columns() * TILE_CELLS,
                        static_cast<std::int64_t>(i) % s.range.columns() * TILE_CELLS, map);
    return map;
}

Budget& ViewData::budget() { return state_->budget; }

void ViewData::note_frame(double now, double device_seconds, double host_seconds) {
    state_->budget.spend(now, device_seconds, host_seconds);
}

const ViewCounts& ViewData::counts() const {
    State& s = *state_;
    s.counts.submissions = s.work.submissions();
    s.counts.tiles_made = s.tiles.made(), s.counts.tiles_pooled = s.tiles.pooled(),
    s.counts.tiles_evicted = s.tiles.evicted();
    s.counts.rows_summed = s.board.rows_summed(), s.counts.readings = s.hovered_weight.readings();
    return s.counts;
}

}  // namespace vantage::view
