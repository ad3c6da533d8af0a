// What the commands train and finetune are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "vantage/train.h"

namespace vantage::cli {

struct TrainCommand {
    bool finetunes = false;
    std::vector<std::string> data, compared;
    std::string config, tokenizer, output, resume, picture = "runs.png";
    std::int64_t layers = 4, width = 128, heads = 4;
    DatasetOptions dataset{.context = 0};
    TrainOptions training;
    std::int64_t accumulate = 0;  ///< micro-batches of a step; 0: as many as hold few tokens each
    bool divided = false;         ///< into more of them, because of the memory
    std::int64_t batch_tokens = 0, eval_every = 0, sample_every = 0, save_every = 0, keep = 3, patience = 0;
    internal::FolderWriter* unfinished = nullptr;  ///< a new folder, until the run has written a step
    double epochs = 0, minutes = 0;
    double begin = 0;  ///< of the training, by seconds_now
    std::string schedule = "cosine", optimizer = "adamw", recompute = "auto", precision = "f32", prompt;
    std::int64_t lora_rank = 0;  ///< of new adapters; 0: none
    LoraOptions lora;
    std::optional<double> lora_dropout;           ///< absent: 0, or that of the adapters that are trained further
    std::string adapters;                         ///< folder of adapters to train further; empty: none
    std::string use = "run", input = "-p \"…\"";  ///< of the trained model: the command, and what it takes
    std::string documents = "documents";          ///< what the data consist of
    std::string target = "token";                 ///< what the loss is the mean over
    bool log_heads = false;
    std::string probe;                       ///< what heads read; empty: drawn tokens
    std::vector<std::int32_t> probe_tokens;  ///< of it; empty: heads are not measured
    bool watch = false;                      ///< in a window
    std::int64_t watch_every = 10;           ///< steps between what it shows
    bool recover = false;                    ///< from the loss of the device
    bool rollback = false;                   ///< to a checkpoint, where the loss diverges
    std::int64_t evaluations_from = 0;       ///< RunSettings::evaluations_from
    bool force = false;                      ///< goes on with other data
    bool json = false;
};

}  // namespace vantage::cli
