// What viewers and commands need of a Session, and its public header does not show.
#pragma once

#include "runtime/session/session_core.h"
#include "runtime/session/tap.h"
#include "vantage/batch.h"
#include "vantage/session.h"

namespace vantage::internal {

struct SessionAccess {
    /// One use for several calls.
    static SessionUse use(const Batch& batch) { return batch.use(); }
    /// Where on the device the rows of a recorded layer are that its weights are made from; the same for the session's
    /// life. Rows that have run are not written again before the sequence is rewound. Throws usage for a layer that is
    /// not recorded or not there.
    static TapSource tap_source(const Session& session, std::int64_t layer, AttentionKind kind = AttentionKind::self);
    /// SessionOptions::variant.
    static AttentionVariant variant_of(const Session& session);
    /// The values of a layer [keys, key heads, Dv], as the cache has them. Throws usage for a layer that is not there,
    /// unsupported where global tokens read values of their own.
    static HostTensor values(const Session& session, std::int64_t layer, AttentionKind kind = AttentionKind::self);
};

}  // namespace vantage::internal
