// The head that a picture begins with where the user has named none: the one that tells most of the text that was read.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/inspect/head_statistics.h"
#include "viewer/data/live_model.h"

namespace vantage::view {

/// Once a run, when the prompt has been read, the model's thread is asked for the numbers of one layer after another: of the next
/// one only when somebody looks again, so that the model goes on in between. What goes wrong there ends the search.
class FocusFinder : public std::enable_shared_from_this<FocusFinder> {
public:
    /// The numbers of a layer's heads, of the first `rows` tokens; called between two tokens of the model, with nothing else at work.
    using ReadLayer = std::function<std::vector<HeadStatistics>(Session&, std::int64_t layer, std::int64_t rows)>;
    explicit FocusFinder(ReadLayer read_layer = statistics_of_layer);

    /// Asks for the next layer, unless one is on its way or nothing is left to ask for; takes note of the one before.
    void look(LiveModel& live, const Version& version);
    /// Looks until the answer is there.
    void wait(LiveModel& live, const Version& version);
    /// Whether an answer has come since the last look.
    bool answered() const;
    std::optional<HeadId> found() const;
    /// What went wrong; taken once.
    std::optional<std::string> take_error();
    /// Seconds of the model's thread that the search took; taken once.
    double take_seconds();

private:
    static std::vector<HeadStatistics> statistics_of_layer(Session& session, std::int64_t layer, std::int64_t rows);
    bool begin_next(const LiveModel& live, const Version& version);
    void read(Session& session);
    const ReadLayer read_layer_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::uint64_t> run_;  ///< that is searched
    std::vector<HeadStatistics> heads_;
    std::int64_t layers_ = 0, next_layer_ = 0, rows_ = 0;
    bool waiting_ = false;   ///< a layer is on its way
    bool answered_ = false;  ///< since the last look
    std::optional<HeadId> found_;
    std::optional<std::string> error_;
    double seconds_ = 0;
};

}  // namespace vantage::view
