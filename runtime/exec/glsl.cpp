#include "runtime/exec/glsl.h"

#include "runtime/base/errors.h"

#ifdef VANTAGE_LINKS_GLSLANG

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

namespace vantage::internal {

namespace {

constexpr int default_version = 100;  // of a source without #version, which then does not compile
constexpr auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);

// glslang's tables, made at the first use.
struct Glslang {
    Glslang() { glslang::InitializeProcess(); }
    ~Glslang() { glslang::FinalizeProcess(); }
};

// The first line of what the compiler said that names an error.
std::string first_error(const std::string& output) {
    for (std::size_t at = 0; at < output.size();) {
        const std::size_t end = std::min(output.find('\n', at), output.size());
        if (const std::string line = output.substr(at, end - at); line.find("ERROR") != std::string::npos) return line;
        at = end + 1;
    }
    return "it does not compile";
}

}  // namespace

std::vector<std::uint32_t> compile_glsl(const std::string& name, const std::string& source) {
    static const Glslang initialized;
    const auto error = [&](const char* said) { return usage_error("kernel " + name + ": " + first_error(said)); };
    const char* const text = source.data();
    const int size = static_cast<int>(source.size());
    const char* const file = name.c_str();
    glslang::TShader shader(EShLangCompute);
    shader.setStringsWithLengthsAndNames(&text, &size, &file, 1);
    shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, default_version);
    shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_3);
    shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_6);
    if (!shader.parse(GetDefaultResources(), default_version, false, rules)) throw error(shader.getInfoLog());
    glslang::TProgram program;
    program.addShader(&shader);
    if (!program.link(rules)) throw error(program.getInfoLog());
    std::vector<std::uint32_t> words;
    glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words);
    return words;
}

}  // namespace vantage::internal

#else

std::vector<std::uint32_t> vantage::internal::compile_glsl(const std::string& name, const std::string&) {
    throw unsupported_error("kernel " + name +
                            ": this build of Vantage cannot compile GLSL, because the glslang library was not found "
                            "when it was built; compile the kernel to SPIR-V, or install glslang-dev and build again");
}

#endif
