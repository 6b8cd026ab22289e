# ng_isa_flags(sources...): files named *.avx512.* and *.amx.* may use those instructions; everything
# else keeps to the baseline, so that the program starts on every supported CPU.
function(ng_isa_flags)
  # GCC 12 takes the undefined lanes inside its own intrinsics for a mistake of ours.
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -Wno-maybe-uninitialized -Wno-uninitialized)
  set(amx -mavx512bf16 -mavx512vbmi -mamx-tile -mamx-bf16 -mamx-int8 -mtune=sapphirerapids)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.avx512\\.(h|cpp)")
      set_source_files_properties(
        ${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                             COMPILE_OPTIONS "${avx512};-mprefer-vector-width=512")
    elseif(source MATCHES "\\.amx\\.(h|cpp)")
      set_source_files_properties(
        ${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                             COMPILE_OPTIONS "${avx512};${amx}")
    endif()
  endforeach()
endfunction()
