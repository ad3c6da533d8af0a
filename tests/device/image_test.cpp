// Models that look at images against what PyTorch computed, in f32 and with f16 keys, and sessions that look.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "runtime/models/config.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"

using namespace vantage;
using namespace vantage::test;

namespace {

std::span<const float> part(const std::vector<float>& all, std::size_t index, std::size_t of) {
    const std::size_t each = all.size() / of;
    return std::span(all).subspan(index * each, each);
}

}  // namespace

TEST_CASE("the oracle's vision transformers come out as PyTorch computed them", "[models][oracle]") {
    const std::string name = GENERATE("vit", "vit_rectangle");
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    INFO(name << (precision == Precision::f32 ? " in f32" : " with f16 keys"));
    const std::string folder = oracle_models + name;
    const Model model = Model::load(test_device(), folder);
    const SafeTensors file(folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, folder);
    const auto values = [&](const char* tensor) { return values_of<float>(file.at(tensor)); };
    const std::vector<float> pixels = values("pixel_values"), logits = values("logits"), last = values("last_hidden");
    Session session(
        model, {.precision = precision, .record_attention = RecordAttention::all(), .inspect = true, .guard = true});
    for (std::size_t image = 3; image-- > 0;) {  // the one with hidden states and attention last
        INFO("image " << image);
        session.set_image(part(pixels, image, 3));
        session.run();
        CHECK(difference(session.logits(), part(logits, image, 3)).first <= allowed.logits);
        const std::span<const float> want = part(last, image, 3);
        CHECK(difference(session.last_hidden(), want).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(want));
    }
    check_layers(session.hidden(), file.at("i0.hidden"), session.tokens().size(), allowed);
    check_attention(session, file.at("i0.attn"), allowed);
}

TEST_CASE("a session looks at one whole image at a time", "[models]") {
    const Model model = Model::load(test_device(), oracle_models + "vit");
    const std::vector<float> all =
        values_of<float>(SafeTensors(oracle_models + "vit/expected.safetensors").at("pixel_values"));
    const auto see = [&](Session& session, std::size_t image) {
        session.set_image(part(all, image, 3));
        session.run();
        return session.attention({1, 2}, {0, 17}, {0, 17}).vector();
    };
    Session recording(model, {.precision = Precision::f32, .record_attention = RecordAttention::all()}),
        other(model, {.precision = Precision::f32});
    const std::vector<float> first = see(recording, 0), second = see(recording, 1);
    CHECK(first != second);
    CHECK(see(other, 0) == first);  // by a replay
    CHECK(see(other, 1) == second);
    CHECK(other.log_sum_exp({1, 2}, {0, 17}).vector() == recording.log_sum_exp({1, 2}, {0, 17}).vector());
    CHECK(other.context() == 17);

    const std::vector<std::int32_t> ids = {0, 0};
    expect_error(ErrorKind::usage, {"vit (vit) takes images", "no tokens"}, [&] { recording.append(ids); });
    expect_error(ErrorKind::usage, {"100 numbers", "[3, 32, 32]", "3072"},
                 [&] { recording.set_image(std::span(all).first(100)); });
    std::vector<float> odd(all.begin(), all.begin() + 3072);
    odd[7] = std::numeric_limits<float>::quiet_NaN();
    expect_error(ErrorKind::usage, {"not finite"}, [&] { recording.set_image(odd); });
    expect_error(ErrorKind::usage, {"whole images"}, [&] { recording.rewind(3); });
    expect_error(ErrorKind::usage, {"encoder", "draws no tokens"}, [&] { recording.next(); });
    CHECK(see(recording, 0) == first);  // what was refused left nothing behind
    const Model reader = Model::load(test_device(), oracle_models + "bert_classification");
    Session text(reader, {.context = 4});
    expect_error(ErrorKind::usage, {"bert_classification (bert) reads text", "takes no image"},
                 [&] { text.set_image(odd); });
}

TEST_CASE("the bare model has a pooler of any size", "[models]") {
    const TemporaryDirectory folder;
    const std::string source = oracle_models + "vit";
    Json config = read_json(source + "/config.json");
    config["architectures"] = Json::array({"ViTModel"});
    config["pooler_output_size"] = 7;
    write_file(folder.path("config.json"), config.dump());
    const SafeTensors whole(source + "/model.safetensors"), expected(source + "/expected.safetensors");
    std::vector<TensorToWrite> bare;
    std::map<std::string, std::vector<std::byte>> data;
    for (const auto& [name, entry] : whole.entries()) {  // the classifier's matrix is as good as any
        std::string as = name.starts_with("vit.") ? name.substr(4) : "pooler.dense" + name.substr(name.rfind('.'));
        bare.push_back({std::move(as), entry.dtype, entry.shape, data[name] = entry.data.all()});
    }
    write_safetensors(folder.path("model.safetensors"), bare);
    Session session(Model::load(test_device(), folder.path()), {.precision = Precision::f32});
    const std::vector<float> pixels = values_of<float>(expected.at("pixel_values"));
    session.set_image(part(pixels, 0, 3));
    session.run();
    std::vector<float> want = values_of<float>(expected.at("logits"));
    want.resize(7);
    for (float& value : want) value = std::tanh(value);
    CHECK(session.logits().empty());
    CHECK(difference(session.pooled(), want).first <= 2e-4);
}
