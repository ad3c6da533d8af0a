#include "cli/train/train_options.h"

#include <CLI/CLI.hpp>

#include "cli/shared/command_options.h"
#include "cli/shared/step_options.h"
#include "runtime/models/config_fields.h"
#include "runtime/train/training_graph.h"

namespace vantage::cli {

namespace {

const CLI::Validator beta_check =
    number_check(" from 0 to 0.99999", "BETA", [](double x) { return x >= 0 && x <= max_beta; });
const CLI::Validator tokens_of_a_step =
    number_check(" from 1 to 1e12", "COUNT", [](double x) { return x >= 1 && x <= 1e12; });

}  // namespace

void add_data_options(CLI::App& command, TrainCommand& c) {
    add_option(command, "--data", c.data,
               "What to learn from: texts (text, .jsonl, .bin, .safetensors), or .jsonl with labels or answers, or "
               "folders of them (docs/training.md)",
               "FILE");
    CLI::Option* eval_data =
        add_option(command, "--eval-data", c.dataset.validation_files, "Files that measure what was learned", "FILE");
    add_setting(command, "--eval-share", c.dataset.validation_share,
                "Without --eval-data: the share of the documents that measure")
        ->check(below_one)
        ->excludes(eval_data);
    command.add_flag("--separate-documents", c.dataset.separate_documents,
                     "Tokens attend to their own document only, and positions begin at 0 in each");
    command.add_flag("--blank-lines", c.dataset.blank_lines,
                     "Blank lines separate the documents of a text, in place of <|endoftext|>");
    command.add_flag("--strict-data", c.dataset.strict, "A line of a .jsonl that cannot be read is an error");
    add_option(command, "--context", c.dataset.context,
               std::string("Tokens of a sequence, at most. Default: the model's, up to 1024") +
                   (c.finetunes ? "" : "; 256 without --config"),
               "N")
        ->check(CLI::Range(std::int64_t{1}, internal::max_context));
}

void add_training_options(CLI::App& command, TrainCommand& c) {
    TrainOptions& o = c.training;
    add_setting(command, "--steps", o.steps, "Steps of the optimiser")->check(one_or_more);
    add_option(command, "--epochs", c.epochs, "In place of --steps: passes over the data", "X")
        ->check(above_zero)
        ->excludes("--steps");
    add_option(command, "--minutes", c.minutes, "Ends after this time", "X")->check(above_zero);
    c.batch_tokens = c.finetunes ? 8192 : 4096;
    add_setting(command, "--batch-tokens", c.batch_tokens, "Tokens of a step")->check(tokens_of_a_step);
    add_option(
        command, "--accumulate", c.accumulate,
        "Micro-batches that a step is divided into. Default: as few as have at most 4096 tokens each and fit into the "
        "memory",
        "N")
        ->check(one_or_more);
    o.rate.rate = c.finetunes ? 2e-5 : 1e-3;
    add_setting(command, "--lr", o.rate.rate, "Learning rate, the highest of the schedule")->check(above_zero);
    add_setting(command, "--lr-floor", o.rate.floor, "What a cosine schedule ends at")->check(zero_or_more);
    add_setting(command, "--schedule", c.schedule, "constant, linear, cosine, inverse_sqrt or noam");
    o.rate.warmup = 20;
    add_setting(command, "--warmup", o.rate.warmup, "Steps in which the learning rate rises")->check(zero_or_more);
    add_setting(command, "--optimizer", c.optimizer, "adamw, adam or sgd");
    add_setting(command, "--beta1", o.beta1, "Adam: decay of the mean of gradients")->check(beta_check);
    add_setting(command, "--beta2", o.beta2, "Adam: decay of the mean of squared gradients")->check(beta_check);
    add_setting(command, "--eps", o.eps, "Adam: added to the root")->check(zero_or_more);
    add_setting(command, "--momentum", o.momentum, "SGD: momentum")->check(below_one);
    command.add_flag("--nesterov", o.nesterov, "SGD: Nesterov's momentum");
    add_setting(command, "--weight-decay", o.weight_decay, "Of matrices")->check(zero_or_more);
    add_setting(command, "--max-grad-norm", o.max_norm, "Gradients are scaled down to this norm; 0: not")
        ->check(zero_or_more);
    add_setting(command, "--label-smoothing", o.label_smoothing, "Share of the target that all tokens get")
        ->check(below_one);
    add_setting(command, "--z-loss", o.z_loss, "Factor of the squared log-sum-exp in the loss")->check(zero_or_more);
    add_option(command, "--load-balance", o.load_balance,
               "Mixture of experts: factor of what uneven routers add to the loss. Default: what config.json says", "X")
        ->check(zero_or_more);
    add_setting(command, "--precision", c.precision,
                "f32, or f16: matrix units multiply operands rounded to f16, and the loss is scaled");
    add_setting(command, "--loss-scale", o.loss_scale, "With f16: a constant loss scale; 0: a dynamic one")
        ->check(zero_or_more);
    add_option(command, "--memory", o.memory,
               "Device memory that may be used, as 6G. Default: nine tenths of what is free", "SIZE")
        ->transform(size_in_bytes());
    add_recompute_option(command, c.recompute);
    add_setting(command, "--dropout", o.dropout, "Share of features that are set to 0 behind each sublayer")
        ->check(below_one);
    add_setting(command, "--attention-dropout", o.attention_dropout, "Share of attention's weights that are set to 0")
        ->check(below_one);
    command.add_flag("--overfit", o.overfit,
                     "Every step reads the first batch. A model that can learn brings its loss near 0");
    add_setting(command, "--seed", o.seed, "Of initial weights, of the order of the data and of dropout");
}

void add_run_options(CLI::App& command, TrainCommand& c) {
    c.eval_every = 100, c.save_every = 500;
    add_setting(command, "--eval-every", c.eval_every, "Steps between evaluations; 0: only at the end")
        ->check(zero_or_more);
    add_setting(command, "--eval-sequences", c.training.validation_sequences, "Sequences of an evaluation, at most")
        ->check(zero_or_more);
    add_setting(command, "--sample-every", c.sample_every, "Steps between texts that the model writes; 0: none")
        ->check(zero_or_more);
    add_option(command, "--prompt", c.prompt, "What these texts begin with", "TEXT");
    command.add_flag("--log-heads", c.log_heads,
                     "Measure with each evaluation what each attention head attends to: heads.jsonl, heads.png");
    command.add_flag("--watch", c.watch,
                     "Show in a window what the heads attend to while they learn, with a slider over the steps; also "
                     "--log-heads");
    add_setting(command, "--watch-every", c.watch_every,
                "Minimum number of steps between snapshots; taking them takes at most 2 % of the time")
        ->check(one_or_more);
    add_option(command, "--probe", c.probe,
               "The text for --log-heads and --watch. Default: random tokens, repeated once", "TEXT");
    add_setting(command, "--save-every", c.save_every,
                "Steps between checkpoints, beside those after the best evaluations; 0: only the last and the best")
        ->check(zero_or_more);
    add_setting(command, "--keep", c.keep, "Checkpoints that are kept, beside the one with the lowest validation loss")
        ->check(one_or_more);
    add_setting(command, "--patience", c.patience,
                "Ends after so many evaluations without a better one; 0: not. DIR/best has the best one")
        ->check(zero_or_more);
    add_option(command, "-o,--output", c.output,
               "Folder for checkpoints, log.jsonl, loss.png, samples.txt and heads.png", "DIR");
    command.add_flag("--recover", c.recover,
                     "If the device is lost, open it again and go on from the newest checkpoint");
    command.add_flag(
        "--rollback", c.rollback,
        "If the loss diverges, go back to the last checkpoint from before and skip the batches that followed it");
    command.add_flag("--json", c.json, "Print the result as one JSON object");
}

}  // namespace vantage::cli
