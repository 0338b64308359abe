# Not verified: written without a vcpkg at hand.
set(VCPKG_BUILD_TYPE release)  # a debug build computes many times more slowly
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
vcpkg_configure_meson(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -Dcpu=x86-64-v3 -Dcuda=disabled -Dcurl=disabled -Dgloo=disabled -Dmpi=disabled -Dnccl=disabled -Donnx=disabled
    -Dcli=false -Dtests=false -Dbench=false -Dexamples=false)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
# TandemConfig.cmake stays in lib/cmake/Tandem: its paths lead from there.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
