# Lanemark with Nix, from the static programs of the release: `nix profile install path:.`.
{
  description = "Storage-path laboratory: measures, simulates and explains drives";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "@version@";
      archives = {
        x86_64-linux = { name = "x86_64-linux-musl"; sha256 = "@x86_64@"; };
        aarch64-linux = { name = "aarch64-linux-musl"; sha256 = "@aarch64@"; };
      };
      lanemark = system: archive:
        let pkgs = nixpkgs.legacyPackages.${system};
        in pkgs.stdenvNoCC.mkDerivation {
          pname = "lanemark";
          inherit version;
          src = pkgs.fetchurl {
            url = "@homepage@/releases/download/v${version}/lanemark-${version}-${archive.name}.tar.gz";
            inherit (archive) sha256;
          };
          installPhase = "mkdir -p $out && cp -r bin share $out";
        };
    in {
      packages = builtins.mapAttrs (system: archive: { default = lanemark system archive; }) archives;
    };
}
