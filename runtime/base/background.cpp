#include "runtime/base/background.h"

#include <memory>
#include <system_error>

namespace vantage::internal {

Background::Background(const std::function<void(std::stop_token)>& work) {
    const auto task = std::make_shared<std::packaged_task<void(std::stop_token)>>(work);
    done_ = task->get_future().share();
    try {
        thread_ = std::jthread([task](const std::stop_token& stop) { (*task)(stop); });
    } catch (const std::system_error&) {  // no more threads
        (*task)({});
    }
}

}  // namespace vantage::internal
