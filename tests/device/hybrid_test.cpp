// A model of which some layers attend and the others keep states (Jamba): its heads are those of the layers that have
// some, and others are refused with one line. That it computes what PyTorch does: model_test.cpp; that its text does not
// depend on batch, chunks and going back: stable_test.cpp.
#include <catch2/catch_test_macros.hpp>

#include "oracle_model.h"
#include "runtime/checkpoint/prune_heads.h"
#include "runtime/session/head_steps.h"
#include "test_device.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using namespace vantage::test;

namespace {

Model jamba_model() { return Model::load(test_device(), oracle_models + "jamba"); }

const std::vector<std::int32_t>& ids() {
    static const std::vector<std::int32_t> all{5, 9, 70, 9, 33, 8, 41, 41, 9, 70};
    return all;
}

Session ran(const Model& model, SessionOptions options) {
    options.precision = Precision::f32;
    options.context = 24;
    Session session(model, options);
    session.append(ids());
    session.run();
    return session;
}

}  // namespace

TEST_CASE("a hybrid model says which of its layers attend", "[hybrid][models]") {
    const Model model = jamba_model();
    CHECK(model.info().layers == 5);
    CHECK(model.info().layers_of(AttentionKind::self) == std::vector<std::int64_t>{1, 4});
    CHECK(model.info().heads_of(AttentionKind::self) == 4);
    CHECK(model.info().attends(4, AttentionKind::self));
    CHECK_FALSE(model.info().attends(2, AttentionKind::self));
    CHECK_FALSE(model.info().attends(AttentionKind::cross));
    const Model mamba = Model::load(test_device(), oracle_models + "mamba");
    CHECK(mamba.info().layers_of(AttentionKind::self).empty());
    CHECK(mamba.info().heads_of(AttentionKind::self) == 0);
}

TEST_CASE("layers of a hybrid model that do not attend are refused by name", "[hybrid][heads][bad]") {
    const Model model = jamba_model();
    Session session = ran(model, {.record_attention = RecordAttention::all(), .masked_heads = std::vector<HeadId>()});
    const auto refused = [](std::initializer_list<const char*> parts, auto&& call) {
        expect_error(ErrorKind::usage, parts, call);
    };
    for (const std::int64_t layer : {-1, 0, 2, 3, 5}) {
        INFO(layer);
        const HeadId head{layer, 0};
        const std::string there = "none in layer " + std::to_string(layer), here = "no head " + name_of(head);
        refused({there.c_str(), "attention in layers 1, 4"}, [&] { session.attention(layer); });
        refused({"none in layer"}, [&] { session.attention(head); });
        refused({"none in layer"}, [&] { session.log_sum_exp(head); });
        refused({"none in layer"}, [&] { session.head_statistics(layer, std::vector<std::int32_t>(ids().size())); });
        refused({"none in layer"}, [&] { session.value_norms(layer, true); });
        refused({"cannot be masked", "attention in layers 1, 4 with heads 0 … 3"},
                [&] { session.mask_heads(std::vector<HeadId>{head}); });
        refused({"cannot be recorded"},
                [&] { Session(model, {.context = 8, .record_attention = {.layers = {layer}}}); });
        refused({here.c_str(), "layers 1, 4"},
                [&] { head_steps(model, {.precision = Precision::f32}, {.ids = ids()}, head); });
    }
    refused({"cannot be masked", "heads 0 … 3"}, [&] { session.mask_heads(std::vector<HeadId>{{1, 4}}); });
    CHECK(session.attention(4).shape() == Shape{4, 10, 10});
    const TemporaryDirectory folder;
    refused({"head 0.1", "2 layers of 4 heads: 1, 4"}, [&] {
        prune_heads(oracle_models + "jamba", folder.path() + "/new", std::vector<HeadId>{{0, 1}});
    });
}

TEST_CASE("heads of a hybrid model are masked, replayed and taken apart", "[hybrid][heads]") {
    const Model model = jamba_model();
    Session all = ran(model, {.record_attention = RecordAttention::all(), .masked_heads = std::vector<HeadId>()}),
            one = ran(model, {.record_attention = {.layers = {4}}}), none = ran(model, {});
    const std::vector<float> first = all.attention(1).vector(), last = all.attention(4).vector();
    CHECK(one.attention(4).vector() == last);
    CHECK(one.attention(1).vector() == first);  // by a replay
    CHECK(none.attention(4).vector() == last);
    CHECK(none.next_logits().vector() == all.next_logits().vector());

    const SafeTensors file(oracle_models + "jamba/expected.safetensors");
    const TensorEntry& attention = file.at("p2.attn");
    const auto prompt = values_of<std::int32_t>(file.at("p2.input_ids"));
    const HeadSteps steps = head_steps(model, {.precision = Precision::f32}, {.ids = prompt}, {4, 3});
    CHECK_FALSE(steps.rotated);
    const std::vector<float> want = values_of<float>(attention);
    const std::size_t each = prompt.size() * prompt.size();
    // Five layers in f32, added in another order by each device: 5.04e-6 on an NVIDIA H100.
    CHECK(difference(steps.weights.values(), std::span(want).last(each)).first < 1e-5);

    const std::vector<float> plain = all.next_logits().vector();
    all.mask_heads(std::vector<HeadId>{{1, 2}});
    const std::vector<float> masked = all.next_logits().vector();
    CHECK(masked != plain);
    CHECK(masked == ran(model, {.masked_heads = std::vector<HeadId>{{1, 2}}}).next_logits().vector());
    all.mask_heads({});
    CHECK(all.next_logits().vector() == plain);
}
