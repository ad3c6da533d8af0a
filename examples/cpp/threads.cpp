// Sessions of one model in several threads: one thread at a time for a session, any number of sessions for a model.
#include <vantage/vantage.h>

#include <cstdio>
#include <thread>

int main() try {
    const vantage::Model model = vantage::Model::built_in(vantage::Device::open());
    std::vector<std::string> texts(3);
    {
        std::vector<std::jthread> threads;
        for (std::string& text : texts)
            threads.emplace_back([&] {
                vantage::Session session(model);
                session.append("Mia put the red cup");
                session.generate(10);
                text = session.text();
            });
    }
    std::printf("%s\n", texts[0].c_str());
    return texts[0] == texts[1] && texts[1] == texts[2] ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
