// An encoder–decoder of BART's tensor names, which the first Transformer shares here.
#pragma once

#include <functional>

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage {

struct BartForm {
    /// Rows of the run's tokens, with their positions, from the table that encoder and decoder share [vocab, width]. The
    /// scope of the encoder or the decoder is open.
    std::function<Tensor(ModelBuilder&, Tensor table)> embed;
    bool own_tables = false;  ///< encoder and decoder may each have a table of their own where nothing is tied
    bool norm_first = false;  ///< x + f(ln(x)) and a norm at each end, instead of ln(x + f(x))
};
void build_bart_encoder(ModelBuilder& builder, const BartForm& form);
void build_bart_decoder(ModelBuilder& builder, const BartForm& form);

}  // namespace vantage
