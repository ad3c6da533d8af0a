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
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vantageConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/vantageConfig.cmake" INSTALL_DESTINATION "${vantage_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/vantageConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/vantageConfig.cmake"
              "${PROJECT_BINARY_DIR}/generated/vantageConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindUtf8proc.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindImGui.cmake" DESTINATION "${vantage_config_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vantage" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
if(TARGET vantage_cli)
  install(TARGETS vantage_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(folder models tuning)
  if(EXISTS "${PROJECT_SOURCE_DIR}/assets/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/assets/${folder}" DESTINATION "${CMAKE_INSTALL_DATADIR}/vantage")
  endif()
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(document README.md LICENSE)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${document}")
    install(FILES "${PROJECT_SOURCE_DIR}/${document}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/docs")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
