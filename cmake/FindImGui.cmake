# ImGui::ImGui: Dear ImGui as packaged by Debian and Ubuntu, without a CMake config file. Its archive also contains back
# ends for other libraries, which are not linked because nothing refers to them.
find_path(IMGUI_INCLUDE_DIR imgui.h PATH_SUFFIXES imgui)
find_library(IMGUI_LIBRARY imgui)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ImGui DEFAULT_MSG IMGUI_LIBRARY IMGUI_INCLUDE_DIR)
mark_as_advanced(IMGUI_INCLUDE_DIR IMGUI_LIBRARY)
if(ImGui_FOUND AND NOT TARGET ImGui::ImGui)
  find_package(Freetype QUIET REQUIRED)
  find_library(STB_LIBRARY stb)
  mark_as_advanced(STB_LIBRARY)
  add_library(ImGui::ImGui UNKNOWN IMPORTED)
  set_target_properties(ImGui::ImGui PROPERTIES IMPORTED_LOCATION "${IMGUI_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${IMGUI_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "Freetype::Freetype;$<$<BOOL:${STB_LIBRARY}>:${STB_LIBRARY}>")
endif()
