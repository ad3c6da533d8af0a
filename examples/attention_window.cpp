// A window on a session that this program runs: attention_window MODEL [PROMPT].
#include <vantage/vantage.h>
#include <vantage/view.h>

#include <cstdio>
#include <string>

int main(int count, char** words) {
    const std::string folder = count > 1 ? words[1] : "models/gpt2";
    const std::string prompt = count > 2 ? words[2] : "The animal didn't cross the street because it";
    try {
        vantage::Device device = vantage::open_for_windows();
        vantage::Model model = vantage::Model::load(device, folder);
        vantage::Session session(model, {.record_attention = vantage::RecordAttention::all()});
        vantage::AttentionFeed feed(session);
        vantage::ViewWindow window(feed);
        session.append(model.tokenizer().encode(prompt, true).ids);
        while (window.turn(session.ended() ? 1 : 0))
            if (session.next()) feed.publish();
    } catch (const vantage::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return vantage::exit_code(error.kind());
    }
}
