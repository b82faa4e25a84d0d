# The expression for nixpkgs:
#
#   nix-build -E '(import <nixpkgs> { }).callPackage ./packaging/nix/package.nix { }'
#
# At a release a person has to fill in the address of the published source archive (the address here does not exist) and
# its hash, which nix prints when it meets lib.fakeHash, and name the maintainers if it goes to nixpkgs.
{
  lib,
  stdenv,
  fetchurl,
  cmake,
  ninja,
  boost,
  bzip2,
  fmt,
  libdeflate,
  lz4,
  nettle,
  utf8proc,
  xxhash,
  xz,
  zlib,
  zstd,
}:

stdenv.mkDerivation (finalAttrs: {
  pname = "cleave";
  version = "0.2.0";

  src = fetchurl {
    url = "https://cleave.invalid/releases/${finalAttrs.version}/cleave-${finalAttrs.version}.tar.gz";
    hash = lib.fakeHash;
  };

  nativeBuildInputs = [
    cmake
    ninja
  ];

  buildInputs = [
    boost
    fmt
    xxhash
  ];

  # Programs that are built with the library need these too.
  propagatedBuildInputs = [
    bzip2
    libdeflate
    lz4
    nettle
    utf8proc
    xz
    zlib
    zstd
  ];

  cmakeFlags = [
    "-DBUILD_TESTING=OFF"
    "-DCLEAVE_STATIC_DEPENDENCIES=OFF"
    # The .pc files expect a folder relative to the prefix, not an absolute path.
    "-DCMAKE_INSTALL_LIBDIR=lib"
  ];

  postInstall = ''
    mv $out/share/zsh/vendor-completions $out/share/zsh/site-functions
  '';

  doInstallCheck = true;
  installCheckPhase = ''
    runHook preInstallCheck
    test "$(printf 'a,b\n1,"x\ny"\n2,z\n' | $out/bin/cleave count -)" = 2
    runHook postInstallCheck
  '';

  meta = {
    description = "Cuts CSV files at record boundaries";
    homepage = "https://cleave.invalid/";
    license = lib.licenses.mit;
    mainProgram = "cleave";
    platforms = lib.platforms.linux;
  };
})
