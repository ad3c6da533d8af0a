// Suggests a head when the user has named none: the most salient one for the prompt.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/inspect/salient_head.h"
#include "viewer/data/live_model.h"

namespace vantage::view {

/// Once per run, after the prompt, the model's thread computes the statistics of one layer after another. The next
/// layer is requested by the next `look`, so that the model continues in between; of a model that learns, which answers
/// only now and then, all layers at once. An error ends the search.
class FocusFinder : public std::enable_shared_from_this<FocusFinder> {
public:
    /// Statistics of a layer's heads for the first `rows` tokens. Called between two tokens of the model.
    using ReadLayer = std::function<std::vector<HeadStatistics>(Session&, std::int64_t layer, std::int64_t rows)>;
    explicit FocusFinder(ReadLayer read_layer = statistics_of_layer);

    /// Takes the answer for the previous layer and requests the next, unless one is pending or none is left.
    void look(LiveModel& live, const Version& version);
    /// Looks until the search has ended.
    void wait(LiveModel& live, const Version& version);
    /// Whether an answer has come since the last look.
    bool answered() const;
    /// The most salient head of the prompt, once it is known.
    std::optional<SalientHead> found() const;
    /// The error of the search; taken once.
    std::optional<std::string> take_error();
    /// Seconds that the search took in the model's thread; taken once.
    double take_seconds();

private:
    static std::vector<HeadStatistics> statistics_of_layer(Session& session, std::int64_t layer, std::int64_t rows);
    bool begin_next(const LiveModel& live, const Version& version);
    void read(Session& session, bool all_layers);
    const ReadLayer read_layer_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::uint64_t> run_;  ///< being searched
    std::vector<HeadStatistics> heads_;
    std::vector<std::int64_t> layers_;  ///< that have heads
    std::size_t next_layer_ = 0;        ///< among these
    std::int64_t rows_ = 0;
    bool waiting_ = false;   ///< a layer is pending
    bool answered_ = false;  ///< since the last look
    std::optional<SalientHead> found_;
    std::optional<std::string> error_;
    double seconds_ = 0;
};

}  // namespace vantage::view
