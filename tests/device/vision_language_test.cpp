// Models of texts and images against what PyTorch computed: CLIP's two towers, and an encoder–decoder that writes about
// an image.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "oracle_model.h"
#include "runtime/base/files.h"
#include "tests/host/expect_error.h"
#include "tests/host/temporary_directory.h"
#include "vantage/batch.h"

using namespace vantage;
using namespace vantage::test;

namespace {

const std::string clip_folder = oracle_models + "clip", captioner_folder = oracle_models + "vit_gpt2";

Model tower(Tower which) { return Model::load(test_device(), clip_folder, {.tower = which}); }

/// Image `index` of an oracle's three.
std::vector<float> image(const SafeTensors& file, std::size_t index) {
    const std::vector<float> all = values_of<float>(file.at("pixel_values"));
    const auto each = static_cast<std::ptrdiff_t>(all.size() / 3), first = static_cast<std::ptrdiff_t>(index) * each;
    return {all.begin() + first, all.begin() + first + each};
}

std::vector<float> row(const std::vector<float>& all, std::size_t index, std::size_t of) {
    const auto each = static_cast<std::ptrdiff_t>(all.size() / of), first = static_cast<std::ptrdiff_t>(index) * each;
    return {all.begin() + first, all.begin() + first + each};
}

double cosine(std::span<const float> a, std::span<const float> b) {
    double product = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        product += x * y, aa += x * x, bb += y * y;
    }
    return product / std::sqrt(aa * bb);
}

/// A decoder that has read the tokens of an oracle's prompt about its image.
Session captioned(const Model& model, const SafeTensors& file, std::size_t prompt, Precision precision) {
    const auto target = values_of<std::int32_t>(file.at("p" + std::to_string(prompt) + ".decoder_input_ids"));
    Session session(model, {.context = std::ssize(target),
                            .precision = precision,
                            .record_attention = RecordAttention::all(),
                            .inspect = true,
                            .guard = true});
    session.set_image(image(file, prompt));
    CHECK(session.tokens() == std::vector{target.front()});  // the start token
    CHECK(session.source_tokens().size() == 13);
    session.rewind(0);
    session.append(target);
    session.run();
    return session;
}

}  // namespace

TEST_CASE("CLIP's text tower comes out as PyTorch computed it", "[models][oracle][clip]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    const Model model = tower(Tower::text);
    const SafeTensors file(clip_folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, clip_folder);
    Session session(
        model, {.precision = precision, .record_attention = RecordAttention::all(), .inspect = true, .guard = true});
    const auto read = [&](const std::string& prompt) {
        session.restart();
        session.append(values_of<std::int32_t>(file.at(prompt + ".input_ids")));
        session.run();
    };
    const auto is_near = [&](std::span<const float> got, const std::string& name) {
        const auto want = values_of<float>(file.at(name));
        return difference(got, want).first <= allowed.hidden + allowed.hidden_of_largest * largest_of(want);
    };
    for (const std::string prompt : {"p0", "p1", "p2"}) {
        INFO(prompt);
        read(prompt);
        CHECK(is_near(session.last_hidden(), prompt + ".last_hidden"));
        CHECK(is_near(session.pooled(), prompt + ".text_embeds"));
    }
    check_layers(session.hidden(), file.at("p2.hidden"), session.tokens().size(), allowed);
    check_attention(session, file.at("p2.attn"), allowed);  // causal
    read("endless");
    CHECK(is_near(session.pooled(), "endless.text_embeds"));
    CHECK(session.logits().empty());
}

TEST_CASE("a text without an end token ends at its largest id in CLIP's older configs", "[models][clip]") {
    const TemporaryDirectory folder;
    Json config = read_json(clip_folder + "/config.json");
    config["text_config"]["eos_token_id"] = 2;
    write_file(folder.path("config.json"), config.dump());
    write_file(folder.path("model.safetensors"), read_file(clip_folder + "/model.safetensors"));
    const SafeTensors file(clip_folder + "/expected.safetensors");
    Session session(Model::load(test_device(), folder.path()), {.precision = Precision::f32});
    session.append(values_of<std::int32_t>(file.at("endless.input_ids")));
    session.run();
    CHECK(difference(session.pooled(), values_of<float>(file.at("endless.text_embeds_v4"))).first <= 1e-3);
    CHECK(difference(session.pooled(), values_of<float>(file.at("endless.text_embeds"))).first > 0.1);
}

TEST_CASE("CLIP's image tower comes out as PyTorch computed it", "[models][oracle][clip]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    const Model model = tower(Tower::image);
    const SafeTensors file(clip_folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, clip_folder);
    const auto last = values_of<float>(file.at("last_hidden")), embeds = values_of<float>(file.at("image_embeds"));
    Session session(
        model, {.precision = precision, .record_attention = RecordAttention::all(), .inspect = true, .guard = true});
    for (std::size_t i = 3; i-- > 0;) {
        INFO("image " << i);
        session.set_image(image(file, i));
        session.run();
        for (const auto& [got, want] :
             {std::pair{session.last_hidden(), row(last, i, 3)}, {session.pooled(), row(embeds, i, 3)}})
            CHECK(difference(got, want).first <= allowed.hidden + allowed.hidden_of_largest * largest_of(want));
    }
    check_layers(session.hidden(), file.at("i0.hidden"), session.tokens().size(), allowed);
    check_attention(session, file.at("i0.attn"), allowed);
}

TEST_CASE("CLIP compares texts and images as PyTorch does, also of texts that run together", "[models][clip]") {
    const Model reader = tower(Tower::text), viewer = tower(Tower::image);
    const SafeTensors file(clip_folder + "/expected.safetensors");
    const auto want = values_of<float>(file.at("logits_per_image"));  // [images, texts]
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    Batch texts(reader, 3, {.precision = precision});
    for (std::int64_t i = 0; i < 3; ++i)
        texts[i].append(values_of<std::int32_t>(file.at("p" + std::to_string(i) + ".input_ids")));
    texts.run();
    CHECK(reader.info().pair_scale == viewer.info().pair_scale);
    Session session(viewer, {.precision = precision});
    for (std::size_t i = 0; i < 3; ++i) {
        session.set_image(image(file, i));
        session.run();
        for (std::size_t text = 0; text < 3; ++text) {
            const Array of_text = texts[static_cast<std::int64_t>(text)].pooled();
            const double logit = viewer.info().pair_scale * cosine(session.pooled(), of_text);
            CHECK(std::abs(logit - static_cast<double>(want[i * 3 + text])) <=
                  allowed_in(precision, clip_folder).logits);
        }
    }
}

TEST_CASE("a text has the same vector in a batch as alone in f32", "[models][clip]") {
    const Model reader = tower(Tower::text);
    const std::vector<std::string> all = {"the dog", "a bird", "keys and values", "the dog chased the birds"};
    const EmbedOptions options{.pooling = Pooling::pooler, .session = {.precision = Precision::f32}};
    const Array together = embed(reader, all, options);
    REQUIRE(together.shape() == Shape{4, 20});  // the projection is narrower than the model
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK(together.row(static_cast<std::int64_t>(i)).vector() ==
              embed(reader, std::span(&all[i], 1), options).vector());
}

TEST_CASE("a tower of a folder of its own loads with and without a projection", "[models][clip]") {
    const SafeTensors whole(clip_folder + "/model.safetensors"), expected(clip_folder + "/expected.safetensors");
    const Json both = read_json(clip_folder + "/config.json");
    const TemporaryDirectory folder;
    const auto save = [&](const char* part, const char* cls, const std::string& prefix, bool keep_prefix,
                          const std::string& projection) {
        Json config = both.at(part);
        config["architectures"] = {cls};
        write_file(folder.path("config.json"), config.dump());
        std::vector<TensorToWrite> tensors;
        std::map<std::string, std::vector<std::byte>> data;
        for (const auto& [name, entry] : whole.entries())
            if (name.starts_with(prefix) || name == projection)
                tensors.push_back({!keep_prefix && name != projection ? name.substr(prefix.size()) : name, entry.dtype,
                                   entry.shape, data[name] = entry.data.all()});
        write_safetensors(folder.path("model.safetensors"), tensors);
    };
    save("vision_config", "CLIPVisionModelWithProjection", "vision_model.", true, "visual_projection.weight");
    {
        Session session(Model::load(test_device(), folder.path()), {.precision = Precision::f32});
        session.set_image(image(expected, 1));
        session.run();
        CHECK(difference(session.pooled(), row(values_of<float>(expected.at("image_embeds")), 1, 3)).first <= 1e-3);
        CHECK(session.model().info().pair_scale == 0);
    }
    save("text_config", "CLIPTextModel", "text_model.", false, "");
    Session session(Model::load(test_device(), folder.path()), {.precision = Precision::f32});
    session.append(values_of<std::int32_t>(expected.at("p1.input_ids")));
    session.run();
    const auto last = values_of<float>(expected.at("p1.last_hidden"));  // its last token is the end token
    CHECK(difference(session.pooled(), row(last, 8, 9)).first <= 1e-3);
    save("text_config", "CLIPTextModel", "text_model.", true, "text_projection.weight");
    expect_error(ErrorKind::bad_file, {"text_projection.weight\" is not part of clip_text_model"},
                 [&] { Model::load(test_device(), folder.path()); });
}

TEST_CASE("towers refuse what the other one takes, and folders that lack one", "[models][bad][clip]") {
    const SafeTensors file(clip_folder + "/expected.safetensors");
    Session text(tower(Tower::text), {.context = 8}), seeing(tower(Tower::image));
    expect_error(ErrorKind::usage, {"clip (clip_text_model) reads text", "no image"},
                 [&] { text.set_image(image(file, 0)); });
    expect_error(ErrorKind::usage, {"clip (clip_vision_model) takes images", "no tokens"},
                 [&] { seeing.append(std::vector<std::int32_t>{5}); });
    expect_error(ErrorKind::usage, {"100 numbers", "[3, 24, 24]"}, [&] { seeing.set_image(std::vector<float>(100)); });
    expect_error(ErrorKind::usage, {"encoder", "draws no tokens"}, [&] { text.next(); });
    expect_error(ErrorKind::usage, {"takes images", "one by one"}, [&] { Batch(seeing.model(), 2); });
    const TemporaryDirectory folder;
    const auto without = [&](const std::string& lost) {
        const SafeTensors whole(clip_folder + "/model.safetensors");
        std::vector<TensorToWrite> tensors;
        std::map<std::string, std::vector<std::byte>> data;
        for (const auto& [name, entry] : whole.entries())
            if (!name.starts_with(lost))
                tensors.push_back({name, entry.dtype, entry.shape, data[name] = entry.data.all()});
        write_safetensors(folder.path("model.safetensors"), tensors);
    };
    write_file(folder.path("config.json"), read_file(clip_folder + "/config.json"));
    without("vision_model.");
    CHECK_NOTHROW(Model::load(test_device(), folder.path()));
    expect_error(ErrorKind::bad_file, {"vision_model.", "is missing", "clip_vision_model"},
                 [&] { Model::load(test_device(), folder.path(), {.tower = Tower::image}); });
    without("logit_scale");
    expect_error(ErrorKind::bad_file, {"logit_scale is missing"}, [&] { Model::load(test_device(), folder.path()); });
}

TEST_CASE("an image captioner comes out as PyTorch computed it", "[models][oracle][captions]") {
    const Precision precision = GENERATE(Precision::f32, Precision::f16);
    const Model model = Model::load(test_device(), captioner_folder);
    const SafeTensors file(captioner_folder + "/expected.safetensors");
    const Allowed allowed = allowed_in(precision, captioner_folder);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string prompt = "p" + std::to_string(i);
        INFO(prompt);
        Session session = captioned(model, file, i, precision);
        CHECK(difference(session.logits(), values_of<float>(file.at(prompt + ".logits"))).first <= allowed.logits);
        const auto last = values_of<float>(file.at(prompt + ".encoder_last_hidden"));
        CHECK(difference(session.encoder_last_hidden(), last).first <=
              allowed.hidden + allowed.hidden_of_largest * largest_of(last));
        if (i < 2) continue;
        check_layers(session.encoder_hidden(), file.at("p2.encoder_hidden"), 13, allowed);
        check_layers(session.hidden(), file.at("p2.decoder_hidden"), session.tokens().size(), allowed);
        check_attention(session, file.at("p2.encoder_attn"), allowed, AttentionKind::encoder);
        check_attention(session, file.at("p2.decoder_attn"), allowed, AttentionKind::self);
        check_attention(session, file.at("p2.cross_attn"), allowed, AttentionKind::cross);
    }
}

TEST_CASE("a text about an image is the oracle's, again after other images, and by a replay", "[models][captions]") {
    const Model model = Model::load(test_device(), captioner_folder);
    const SafeTensors file(captioner_folder + "/expected.safetensors");
    const auto want = values_of<std::int32_t>(file.at("greedy.ids"));
    Session session(model, {.precision = Precision::f32, .guard = true});
    const auto written = [&](std::size_t index) {
        session.restart({.ignore_end = true});
        session.set_image(image(file, index));
        return session.generate(std::ssize(want));
    };
    CHECK(written(0) == want);
    CHECK(written(1) != want);
    CHECK(written(0) == want);
    session.rewind(5);  // the image stays
    CHECK(session.generate(std::ssize(want) - 4) == std::vector(want.begin() + 4, want.end()));
    Session recording(
        model,
        {.context = session.processed(), .precision = Precision::f32, .record_attention = RecordAttention::all()});
    recording.set_image(image(file, 0));
    recording.rewind(0);
    recording.append(std::span(session.tokens()).first(static_cast<std::size_t>(session.processed())));
    recording.run();
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross})
        CHECK(difference(session.attention(1, kind), recording.attention(1, kind)).first <= 1e-6);
    Session masked(model, {.precision = Precision::f32, .masked_heads = std::vector<HeadId>{}});
    masked.restart({.ignore_end = true});
    masked.set_image(image(file, 0));
    CHECK(masked.generate(std::ssize(want)) == want);
    masked.mask_heads(std::vector<HeadId>{{0, 0, AttentionKind::encoder}, {1, 1, AttentionKind::cross}});
    masked.rewind(1);
    CHECK(masked.generate(std::ssize(want)) != want);
}

TEST_CASE("a Generator writes about images", "[models][captions]") {
    const Model model = Model::load(test_device(), captioner_folder);
    const SafeTensors file(captioner_folder + "/expected.safetensors");
    const auto want = values_of<std::int32_t>(file.at("greedy.ids"));
    Generator generator(model, {.ignore_end = true},
                        {.max_tokens = std::ssize(want), .session = {.precision = Precision::f32}});
    std::vector<std::int32_t> ids;
    CHECK(generator.describe(image(file, 0), [&](const Token& token) {
        ids.push_back(token.id);
        return true;
    }) == Ending::length);
    CHECK(std::vector(generator.session().tokens().begin() + 1, generator.session().tokens().end()) == want);
    expect_error(ErrorKind::usage, {"vit_gpt2 (vision-encoder-decoder) writes about images", "set_image()"},
                 [&] { generator.complete("the dog"); });
}

TEST_CASE("an image captioner refuses texts, other sizes, and batches", "[models][bad][captions]") {
    const Model model = Model::load(test_device(), captioner_folder);
    Session session(model, {.context = 6});
    expect_error(ErrorKind::usage, {"vit_gpt2", "an image, which set_image() gives it first"}, [&] { session.run(); });
    expect_error(ErrorKind::usage, {"writes about images", "set_image()"},
                 [&] { session.set_source(std::vector<std::int32_t>{4}); });
    expect_error(ErrorKind::usage, {"7 numbers", "[3, 16, 24]"}, [&] { session.set_image(std::vector<float>(7)); });
    std::vector<float> odd(3 * 16 * 24);
    odd[9] = std::numeric_limits<float>::infinity();
    expect_error(ErrorKind::usage, {"not finite"}, [&] { session.set_image(odd); });
    expect_error(ErrorKind::usage, {"takes images", "one by one"}, [&] { Batch(model, 1); });
    const auto refused = [&](const std::function<void(Json&)>& change, std::initializer_list<const char*> parts) {
        const TemporaryDirectory folder;
        Json config = read_json(captioner_folder + "/config.json");
        change(config);
        write_file(folder.path("config.json"), config.dump());
        write_file(folder.path("model.safetensors"), read_file(captioner_folder + "/model.safetensors"));
        expect_error(ErrorKind::bad_file, parts, [&] { Model::load(test_device(), folder.path()); });
    };
    refused([](Json& c) { c["encoder"]["model_type"] = "swin"; }, {"encoder.model_type", "swin", "vit"});
    refused([](Json& c) { c["decoder"]["model_type"] = "trocr"; }, {"decoder.model_type", "trocr", "gpt2"});
    refused([](Json& c) { c["decoder"]["add_cross_attention"] = false; }, {"decoder.add_cross_attention", "true"});
    refused([](Json& c) { c.erase("encoder"); }, {"encoder", "missing"});
    refused([](Json& c) { c["encoder"]["hidden_size"] = 27; }, {"is F32 [1, ", "config.json wants [1, ", "27]"});
    refused([](Json& c) { c["decoder_start_token_id"] = 400; }, {"decoder_start_token_id", "400"});
}
