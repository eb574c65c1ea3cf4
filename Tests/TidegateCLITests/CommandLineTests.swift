import ArgumentParser
import Testing
import Tidegate
import TidegateDaemon
import TidegateCore

@testable import TidegateCLI

@Suite struct CommandLineTests {
    private func farewell(_ words: String...) -> ProgramExit? {
        do {
            var command = try TidegateCommand.parseAsRoot(words)
            // Help comes as a command of its own.
            if !(command is any AsyncParsableCommand) { try command.run() }
            return nil
        } catch {
            return ProgramExit(error, parsedBy: TidegateCommand.self)
        }
    }

    @Test("Usage errors end with 2 and one sentence")
    func usage() {
        #expect(self.farewell("status", "--jsn")?.code == 2)
        #expect(
            self.farewell("status", "--jsn")?.complaint == "tidegate: unknown option '--jsn'. Did you mean '--json'?")
        #expect(self.farewell("status", "-4", "-6")?.complaint == "tidegate: -4 and -6 exclude each other")
        #expect(
            self.farewell("status", "--target", "a:b")?.complaint
                == "tidegate: --target: \"b\" in \"a:b\" is not a port from 1 to 65535")
        #expect(self.farewell("explian", "x")?.code == 2)
    }

    @Test("A word that is no command is told as one, whatever follows it")
    func commands() {
        func problem(_ words: String...) -> String? { UnknownCommand.problem(words, TidegateCommand.self) }
        #expect(problem("explian", "x") == "\"explian\" is no command of tidegate: did you mean explain?")
        #expect(
            problem("tasks", "frob", "--json")
                == "\"frob\" is no command of tidegate tasks: "
                + "there are list, show, submit, suspend, resume, cancel, watch")
        for words in [[], ["--version"], ["help", "tasks"], ["tasks"], ["tasks", "list", "x"], ["fetch", "tasks"]] {
            #expect(UnknownCommand.problem(words, TidegateCommand.self) == nil)
        }
    }

    @Test("The version and help are answers, not complaints")
    func answers() {
        #expect(self.farewell("--version")?.answer == "tidegate 0.1.0")
        #expect(self.farewell("--version")?.code == 0)
        for command in ["status", "watch", "explain", "wait", "run", "fetch", "serve"] {
            let help = self.farewell(command, "--help")
            #expect(help?.code == 0 && help?.complaint == nil)
            #expect(help?.answer?.contains("USAGE: tidegate \(command)") == true, "\(command)")
        }
    }

    @Test(
        "Every ending has its number",
        arguments: [
            (.no, 1), (.usage, 2), (.unknown, 3), (.gaveUp, 75), (.notRunnable, 126), (.notFound, 127),
            (.signal(2), 130), (.signal(15), 143),
        ] as [(ExitStatus, Int32)])
    func codes(_ code: ExitStatus, _ number: Int32) {
        let result = ProgramExit(CommandError(code, "why"), parsedBy: TidegateCommand.self)
        #expect(result.status == number && result.errorMessage == "tidegate: why" && result.output == nil)
    }

    @Test("A bad configuration is a usage error, a refused port is not")
    func daemonErrors() throws {
        #expect(CommandError(.resource("cannot listen")) == CommandError(.no, "cannot listen"))
        let error = try #require(throws: DaemonError.self) {
            var settings = DaemonSettings(paths: DefaultPaths(user: 0) { _ in nil })
            settings.configurationFile = "/nowhere/t.yml"
            _ = try Daemon(settings)
        }
        #expect(CommandError(error) == CommandError(.usage, "/nowhere/t.yml: cannot be read: No such file or directory"))
    }

    @Test("wait takes conditions, limits and a command")
    func waitOptions() throws {
        let options = try WaitOptions.parse(
            ["--for", "carrier:eth0", "--for", "host:[::1]:443", "--any", "--stable", "2s", "--", "ls", "-l"])
        let values = try options.values()
        #expect(values.conditions.map(\.description) == ["carrier:eth0", "host:[::1]:443/tcp"])
        #expect(values.isAnyEnough && values.stable == .seconds(2) && values.timeout == .seconds(120))
        #expect(options.command == ["ls", "-l"])
        #expect(try WaitOptions.parse(["--for", "route", "--timeout", "inf"]).values().timeout == nil)
        #expect(try WaitOptions.parse(["--for", "route", "--timeout", "2"]).values().timeout == .seconds(2))
    }

    @Test(
        "wait refuses what it cannot do",
        arguments: [
            (["wait"], "there is nothing to wait for: give --for"),
            (["wait", "--for", "route", "--stable", "3m"], "--stable 3m does not fit into --timeout 2m"),
            (["wait", "--for", "route", "--stable", "inf"], "--stable: inf would never be over"),
            (["serve", "--config.check"], "--config.check needs --config.file or --web.config.file"),
            (
                ["serve", "--web.telemetry-path", "m"],
                "--web.telemetry-path: \"m\" is not a free path that begins with /"
            ),
            (["serve", "--config.file", ""], "--config.file: \"\" does not name a file"),
            (["serve", "--web.config.file", ""], "--web.config.file: \"\" does not name a file"),
            (["tasks", "list", "--control.socket", ""], "--control.socket: \"\" does not name a socket"),
            (["status", "-q", "--json"], "--quiet and --json exclude each other"),
            (["fetch", "http://a/", "-q", "--progress", "bar"], "--quiet and --progress bar exclude each other"),
            (["serve", "--web.max-requests", "0"], "--web.max-requests: 0 is not from 1 to 10000"),
        ])
    func refusals(_ words: [String], _ sentence: String) {
        #expect(throws: Never.self) {
            do {
                _ = try TidegateCommand.parseAsRoot(words)
                Issue.record("\(words) was taken")
            } catch {
                #expect(ProgramExit(error, parsedBy: TidegateCommand.self).complaint == "tidegate: \(sentence)")
            }
        }
    }

    @Test("Something is stable when it has held long enough without a break")
    func stableWait() {
        func moment(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
        var wait = StableWait(required: .seconds(5))
        #expect(wait.observe(true, at: moment(10)) == .holdingUntil(moment(15)))
        #expect(wait.observe(false, at: moment(14)) == .missing)
        #expect(wait.observe(true, at: moment(16)) == .holdingUntil(moment(21)))
        #expect(wait.observe(true, at: moment(21)) == .done)
        var atOnce = StableWait(required: .zero)
        #expect(atOnce.observe(true, at: moment(1)) == .done)
    }
}
