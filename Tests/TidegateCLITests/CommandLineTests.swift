import ArgumentParser
import Testing
import Tidegate
import TidegateDaemon
import TidegateCore

@testable import TidegateCLI

@Suite struct CommandLineTests {
    private func result(_ arguments: String...) -> ProgramExit? {
        do {
            var command = try TidegateCommand.parseAsRoot(arguments)
            // Help is parsed as a command.
            if !(command is any AsyncParsableCommand) { try command.run() }
            return nil
        } catch {
            return ProgramExit(error, parsedBy: TidegateCommand.self)
        }
    }

    @Test("Usage errors have status 2 and one line")
    func usage() {
        #expect(self.result("status", "--jsn")?.status == 2)
        #expect(
            self.result("status", "--jsn")?.errorMessage == "tidegate: unknown option '--jsn'. Did you mean '--json'?")
        #expect(
            self.result("status", "--bogus")?.errorMessage
                == "tidegate: unknown option '--bogus' (see tidegate status --help)")
        #expect(self.result("status", "-4", "-6")?.errorMessage == "tidegate: -4 and -6 are mutually exclusive")
        #expect(
            self.result("status", "--target", "a:b")?.errorMessage
                == "tidegate: --target: \"b\" in \"a:b\" is not a port from 1 to 65535")
        #expect(self.result("explian", "x")?.status == 2)
    }

    @Test("An unknown command is an error of its own, whatever follows it")
    func commands() {
        func message(_ arguments: String...) -> String? {
            UnknownCommand.message(for: arguments, root: TidegateCommand.self)
        }
        #expect(message("explian", "x") == "unknown command \"explian\" (did you mean \"explain\"?)")
        #expect(
            message("tasks", "frob", "--json")
                == "unknown command \"frob\" (expected one of list, show, get, submit, suspend, resume, cancel, wait, watch)"
        )
        #expect(message("help", "xyzzy")?.hasPrefix("unknown command \"xyzzy\" (expected one of status, ") == true)
        #expect(message("--verison") == "unknown option '--verison' (did you mean --version?)")
        #expect(message("-V") == "unknown option '-V' (did you mean --version?)")
        #expect(message("-x") == "unknown option '-x' (see tidegate --help)")
        #expect(
            message("generate")
                == "missing command (expected one of config, schema, systemd, kubernetes; see tidegate generate --help)"
        )
        #expect(message()?.hasSuffix("; see tidegate --help)") == true)
        for arguments in [
            ["--version"], ["-h"], ["help"], ["help", "tasks"], ["tasks", "--help"], ["tasks", "list", "x"],
            ["fetch", "tasks"],
        ] {
            #expect(UnknownCommand.message(for: arguments, root: TidegateCommand.self) == nil)
        }
    }

    @Test("The version and help are printed to standard output")
    func answers() {
        #expect(self.result("--version")?.output == "tidegate \(TidegateVersion.description)")
        #expect(self.result("--version")?.status == 0)
        for command in ["status", "watch", "explain", "wait", "run", "fetch", "serve"] {
            let help = self.result(command, "--help")
            #expect(help?.status == 0 && help?.errorMessage == nil)
            #expect(help?.output?.contains("USAGE: tidegate \(command)") == true, "\(command)")
        }
    }

    @Test(
        "Every exit status has its number",
        arguments: [
            (.no, 1), (.usage, 2), (.unknown, 3), (.gaveUp, 75), (.notRunnable, 126), (.notFound, 127),
            (.signal(2), 130), (.signal(15), 143),
        ] as [(TidegateCLI.ExitStatus, Int32)])
    func statuses(_ status: TidegateCLI.ExitStatus, _ number: Int32) {
        let result = ProgramExit(CommandError(status, "why"), parsedBy: TidegateCommand.self)
        #expect(result.status == number && result.errorMessage == "tidegate: why" && result.output == nil)
    }

    @Test("An invalid configuration is a usage error, a port in use is not")
    func daemonErrors() async throws {
        #expect(CommandError(.resource("cannot listen")) == CommandError(.no, "cannot listen"))
        let error = try await #require(throws: DaemonError.self) {
            var settings = DaemonSettings(paths: DefaultPaths(user: 0) { _ in nil })
            settings.configurationFile = "/nowhere/t.yml"
            _ = try await Daemon(settings)
        }
        #expect(
            CommandError(error) == CommandError(.usage, "/nowhere/t.yml: cannot be read: No such file or directory"))
    }

    @Test("wait takes conditions, limits and a command")
    func waitOptions() throws {
        let options = try WaitCommand.parse(
            ["--for", "carrier:eth0", "--for", "host:[::1]:443", "--any", "--stable", "2s", "--", "ls", "-l"])
        let values = try options.parsed().wait
        #expect(values.conditions.map(\.description) == ["carrier:eth0", "host:[::1]:443/tcp"])
        #expect(values.isAnyEnough && values.stable == .seconds(2) && values.timeout == .seconds(120))
        #expect(options.command == ["ls", "-l"])
        #expect(try WaitCommand.parse(["--for", "route", "--timeout", "inf"]).parsed().wait.timeout == nil)
        #expect(try WaitCommand.parse(["--for", "route", "--timeout", "2"]).parsed().wait.timeout == .seconds(2))
    }

    @Test(
        "Options that contradict each other or are out of range are usage errors",
        arguments: [
            (["wait", "--for", "route", "--stable", "3m"], "--stable 3m is longer than --timeout 2m"),
            (["wait", "--for", "route", "--stable", "inf"], "--stable: must be finite"),
            (["serve", "--config.check"], "--config.check requires --config.file or --web.config.file"),
            (
                ["serve", "--web.telemetry-path", "m"],
                "--web.telemetry-path: \"m\" is not an absolute URL path"
            ),
            (["serve", "--web.telemetry-path", "/probe"], "--web.telemetry-path: \"/probe\" is reserved"),
            (
                ["serve", "--web.telemetry-path", "/a//b"],
                "--web.telemetry-path: \"/a//b\" is not an absolute URL path"
            ),
            (["serve", "--config.file", ""], "--config.file: file name is empty"),
            (["serve", "--web.config.file", ""], "--web.config.file: file name is empty"),
            (["tasks", "list", "--control.socket", ""], "--control.socket: path is empty"),
            (["status", "-q", "--json"], "--json and --quiet are mutually exclusive"),
            (["fetch", "http://a/", "-q", "--progress", "bar"], "--quiet and --progress bar are mutually exclusive"),
            (
                ["serve", "--timeout-offset", "x"],
                "--timeout-offset: \"x\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
            ),
            (["serve", "--history.limit", "10001"], "--history.limit: 10001 is out of range (0 to 10000)"),
            (["serve", "--web.max-requests", "0"], "--web.max-requests: 0 is out of range (1 to 10000)"),
        ])
    func usageErrors(_ arguments: [String], _ message: String) {
        do {
            _ = try TidegateCommand.parseAsRoot(arguments)
            Issue.record("\(arguments) was accepted")
        } catch {
            #expect(ProgramExit(error, parsedBy: TidegateCommand.self).errorMessage == "tidegate: \(message)")
        }
    }
}
