// An encoder–decoder with BART's tensor names, shared with the original Transformer.
#pragma once

#include <functional>

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

struct BartForm {
    /// Embeds the tokens of the run, with their positions, using the table that encoder and decoder share
    /// [vocab, width]. Called in the scope of the encoder or of the decoder.
    std::function<Tensor(ModelBuilder&, Tensor table)> embed;
    /// Untied encoders and decoders may each have a table of their own.
    bool own_tables = false;
    /// Pre-norm: x + f(ln(x)), with a final norm on each side, instead of ln(x + f(x)).
    bool norm_first = false;
};
void build_bart_encoder(ModelBuilder& builder, const BartForm& form);
void build_bart_decoder(ModelBuilder& builder, const BartForm& form);

}  // namespace vantage::internal
