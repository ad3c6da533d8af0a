// Sessions of models that look at images instead of reading tokens.
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/session/session_state.h"

namespace vantage {

void Session::set_image(std::span<const float> pixels) {
    State& s = *state_;
    const ImageInput& image = s.model.config().image;
    if (!s.is_vision())
        throw Error(ErrorKind::usage,
                    s.model.info().name + " reads text (" + s.model.info().architecture + "): it takes no image");
    if (static_cast<std::int64_t>(pixels.size()) != image.pixels())
        throw Error(ErrorKind::usage,
                    format("an image of %zu numbers was given, but %s looks at [%lld, %lld, %lld]: %lld", pixels.size(),
                           s.model.info().name.c_str(), static_cast<long long>(image.channels),
                           static_cast<long long>(image.height), static_cast<long long>(image.width),
                           static_cast<long long>(image.pixels())));
    for (const float pixel : pixels)
        if (!std::isfinite(pixel)) throw Error(ErrorKind::usage, "the image has pixels that are not finite");
    s.finish_flight();
    s.replay.reset();
    s.forget_results(s.sequence);
    s.pixels.assign(pixels.begin(), pixels.end());
    s.sequence.tokens.assign(static_cast<std::size_t>(s.context), 0);
    s.sequence.types = s.sequence.tokens;
    s.sequence.ended = s.step_current = false;
}

}  // namespace vantage
