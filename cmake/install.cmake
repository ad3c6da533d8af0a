# cmake --install: the program, the libraries with vantage::vantage for find_package(vantage), headers, models,
# documents.
include(CMakePackageConfigHelpers)
set(vantage_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vantage")

get_property(layers GLOBAL PROPERTY VANTAGE_LAYERS)
foreach(layer IN LISTS layers)
  string(REGEX REPLACE "^vantage_" "" name "${layer}")  # vantage_base is exported as vantage::base
  set_target_properties(${layer} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS ${layers} EXPORT vantageTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT vantageTargets NAMESPACE vantage:: DESTINATION "${vantage_config_dir}")
set(vantage_models "${CMAKE_INSTALL_DATADIR}/vantage/models")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vantageConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/vantageConfig.cmake" INSTALL_DESTINATION "${vantage_config_dir}"
  PATH_VARS vantage_models)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/vantageConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/vantageConfig.cmake"
              "${PROJECT_BINARY_DIR}/generated/vantageConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindUtf8proc.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindImGui.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindGlslang.cmake"
        DESTINATION "${vantage_config_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vantage" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
# pkg-config: vantage::vantage and what it links, without pictures and windows.
set(libraries "")
foreach(layer IN LISTS layers)
  if(NOT layer MATCHES "_(picture|view|bench|conform|measure|cost|serve|load)$")
    string(APPEND libraries " -l${layer}")
  endif()
endforeach()
list(JOIN Glslang_LIBRARIES " " glslang_libraries)
file(RELATIVE_PATH vantage_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/vantage.pc.in" "${PROJECT_BINARY_DIR}/generated/vantage.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/vantage.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(TARGET vantage_cli)
  install(TARGETS vantage_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(folder models tuning)
  if(EXISTS "${PROJECT_SOURCE_DIR}/assets/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/assets/${folder}" DESTINATION "${CMAKE_INSTALL_DATADIR}/vantage")
  endif()
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(document README.md CONTRIBUTING.md SECURITY.md LICENSE)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${document}")
    install(FILES "${PROJECT_SOURCE_DIR}/${document}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/docs")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
# The README links to the built-in model's card, as it does in the source tree.
if(EXISTS "${PROJECT_SOURCE_DIR}/assets/models/mini-world/MODEL_CARD.md")
  install(FILES "${PROJECT_SOURCE_DIR}/assets/models/mini-world/MODEL_CARD.md"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}/assets/models/mini-world")
endif()
