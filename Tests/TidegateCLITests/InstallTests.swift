import Foundation
import Testing
import TidegateTestKit

/// `make install` into a folder, and the manual and completions that it installs, in the programs that read them.
@Suite(.serialized) struct InstallTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("install-\(UUID().uuidString)")

    private var share: String { "\(self.folder.path)/opt/x/share" }

    private static let files = [
        "bin/tidegate", "lib/systemd/system/tidegate.service", "lib/systemd/system/tidegate.socket",
        "lib/systemd/system/tidegate@.service",
        "lib/sysusers.d/tidegate.conf", "share/bash-completion/completions/tidegate",
        "share/fish/vendor_completions.d/tidegate.fish", "share/tidegate/dashboards/connections.json",
        "share/tidegate/dashboards/fleet.json", "share/tidegate/dashboards/internals.json",
        "share/tidegate/dashboards/overview.json",
        "share/tidegate/dashboards/probes.json", "share/tidegate/dashboards/quality.json",
        "share/tidegate/dashboards/reachability.json",
        "share/tidegate/dashboards/requests.json", "share/tidegate/prometheus/alertmanager.yml",
        "share/tidegate/prometheus/alerts.yml",
        "share/tidegate/prometheus/rules-fleet.yml",
        "share/tidegate/prometheus/rules.yml", "share/zsh/site-functions/_tidegate",
    ]
    private static let manual = "share/man/man1/"

    private func make(_ target: String) async throws -> Program.Output {
        try await Program.run([
            "make", "--no-print-directory", "-C", Self.root, target, "PREFIX=/opt/x", "DESTDIR=\(self.folder.path)",
            "BUILT=\(BuiltProduct.path(of: "tidegate"))",
        ])
    }

    /// What is below the prefix.
    private var installed: [String] {
        let all = FileManager.default.enumerator(atPath: "\(self.folder.path)/opt/x")?.allObjects as? [String] ?? []
        return all.filter { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(self.folder.path)/opt/x/\(name)")
            return attributes?[.type] as? FileAttributeType == .typeRegular
        }.sorted()
    }

    private func withInstalled(_ body: () async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let output = try await self.make("install")
        try #require(output.status == 0, "\(output)")
        try await body()
    }

    @Test("make install puts program, unit, completions and dashboards below the prefix, and uninstall removes them")
    func install() async throws {
        try await self.withInstalled {
            #expect(self.installed.filter { !$0.hasPrefix(Self.manual) } == Self.files)
            let program = "\(self.folder.path)/opt/x/bin/tidegate"
            #expect(try await Program.expect([program, "--version"]).hasPrefix("tidegate "))
            for file in Self.files {
                let path = "\(self.folder.path)/opt/x/\(file)"
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == (file.hasPrefix("bin/") ? 0o755 : 0o644), "\(file)")
            }
            let unit = try String(contentsOfFile: "\(self.folder.path)/opt/x/\(Self.files[1])", encoding: .utf8)
            #expect(unit.contains("\nExecStart=/opt/x/bin/tidegate serve "))
            let sections = try await Program.expect(["readelf", "--sections", "--wide", program])
            #expect(sections.contains(" .text ") && !sections.contains(" .symtab ") && !sections.contains(" .debug_"))
            #expect(try await self.make("uninstall").status == 0)
            #expect(self.installed == [])
        }
    }

    @Test("Every command has a page in the manual, which man accepts and shows with options and exit status")
    func manual() async throws {
        try await self.withInstalled {
            let reference = try String(contentsOfFile: "\(Self.root)/docs/cli.md", encoding: .utf8)
            let commands = reference.matches(of: /\n## (tidegate.*)\n/).map { $0.1.replacing(" ", with: "-") }
            let pages = self.installed.filter { $0.hasPrefix(Self.manual) }
            #expect(pages == Set(commands + ["tidegate"]).map { "\(Self.manual)\($0).1.gz" }.sorted())
            for page in pages {
                let path = "\(self.folder.path)/opt/x/\(page)"
                let shown = try await Program.run(["env", "LC_ALL=C.UTF-8", "man", "--warnings", "--local-file", path])
                #expect(shown.status == 0 && shown.errors.isEmpty, "\(page): \(shown.errors)")
                #expect(shown.output.contains("NAME\n"), "\(page)")
            }
            let wait = try await Program.expect([
                "env", "MANWIDTH=80", "man", "--local-file", "\(self.share)/man/man1/tidegate-wait.1.gz",
            ])
            for text in ["\nEXIT STATUS\n", "--timeout duration\n", "tidegate-wait - Wait until"] {
                #expect(wait.contains(text), "\(text)")
            }
        }
    }

    @Test("bash completes commands and options by the installed file")
    func bash() async throws {
        try await self.withInstalled {
            let script = """
                source "$1" || exit 1
                function=$(complete -p tidegate | sed 's/.*-F \\([^ ]*\\).*/\\1/')
                words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
                  $function tidegate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; echo "${COMPREPLY[@]}"; }
                words tidegate ex
                words tidegate explain --cac
                """
            let output = try await Program.run([
                "bash", "--norc", "-c", script, "bash", "\(self.share)/bash-completion/completions/tidegate",
            ])
            #expect(output.output.split(separator: "\n") == ["explain", "--cacert"], "\(output)")
        }
    }

    @Test(
        "zsh finds the installed completion, and it is one",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/zsh")))
    func zsh() async throws {
        try await self.withInstalled {
            let script = """
                fpath=("$1" $fpath); autoload -Uz compinit; compinit -D -u
                echo $_comps[tidegate]
                autoload +X _tidegate && echo loaded
                """
            let output = try await Program.run(["zsh", "-f", "-c", script, "zsh", "\(self.share)/zsh/site-functions"])
            #expect(
                output.output.split(separator: "\n") == ["_tidegate", "loaded"] && output.errors == "", "\(output)")
        }
    }

    @Test(
        "fish completes commands and options by the installed file",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/fish")))
    func fish() async throws {
        try await self.withInstalled {
            let script = """
                set -p fish_complete_path \(self.share)/fish/vendor_completions.d
                complete -C 'tidegate ex'; complete -C 'tidegate explain --cac'
                """
            let output = try await Program.run([
                // Only commands on the PATH are completed.
                "env", "HOME=\(self.folder.path)", "PATH=\(self.folder.path)/opt/x/bin:/usr/bin:/bin", "fish",
                "--no-config", "-c", script,
            ])
            let names = output.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
            #expect(names == ["explain", "--cacert"], "\(output)")
        }
    }
}
