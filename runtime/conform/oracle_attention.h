// Maps the attention ops of the case files to calls.
#pragma once

#include "runtime/conform/oracle_calls.h"

namespace vantage::oracle {

const OracleMaps& attention_maps();

}  // namespace vantage::oracle
