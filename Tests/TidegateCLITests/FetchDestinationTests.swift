import Foundation
import Testing
import TidegateTestKit

/// Places where `tidegate fetch -o` ends, as root and as another user.
@Suite(.enabled(if: geteuid() == 0, "changing the user needs root"), .timeLimit(.minutes(5)))
struct FetchDestinationTests {
    enum User: CaseIterable {
        case root, nobody

        var prefix: [String] {
            self == .root ? [] : ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        }
    }

    private let server: LiveServer
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

    init() throws {
        self.server = try LiveServer { $0.path == "/none" ? .respond(404, text: "no") : .respond(text: "body") }
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    }

    /// Runs a script in the folder, which then belongs to the user: `fetch` is the program with `-q`, `$url` a body.
    private func run(_ script: String, as user: User = .root) async throws -> Program.Output {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        if user == .nobody { #expect(chown(self.folder, 65_534, 65_534) == 0) }
        let start = """
            set -u; cd "$1"; url=$2/x; none=$2/none; program=$0; umask 022
            fetch() { "$program" fetch -q --no-gate --retry 0 "$@"; }

            """
        return try await Program.run(
            user.prefix + [
                "bash", "-c", start + script, BuiltProduct.path(of: "tidegate"), self.folder,
                self.server.url(""),
            ])
    }

    @Test("A link stays, and the file to which it leads is replaced, or created", arguments: User.allCases)
    func links(user: User) async throws {
        let output = try await self.run(
            """
            mkdir sub; echo old > sub/data; ln -s sub/second first; ln -s data sub/second
            fetch -o first "$url" && readlink first sub/second && cat sub/data && echo
            ln -s sub/new dangling; fetch -o dangling "$url" && readlink dangling && cat sub/new && echo
            ls -A . sub
            """, as: user)
        #expect(
            output.output
                == "sub/second\ndata\nbody\nsub/new\nbody\n.:\ndangling\nfirst\nsub\n\nsub:\ndata\nnew\nsecond\n",
            "\(output)")
        #expect(output.status == 0 && output.errors == "")
    }

    @Test(
        "A loop of links, a socket and a directory are refused before anything is requested", arguments: User.allCases)
    func refused(user: User) async throws {
        let output = try await self.run(
            """
            ln -s b a; ln -s a b; fetch -o a "$url"; echo $?
            python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'; fetch -o s "$url"; echo $?
            mkdir d; fetch -o d "$url"; echo $?
            """, as: user)
        #expect(output.output == "1\n1\n1\n", "\(output)")
        #expect(
            output.errors == """
                tidegate: a is a symbolic link that leads back to itself
                tidegate: s is a socket
                tidegate: d is a directory

                """)
        #expect(self.server.requests.isEmpty)
    }

    @Test("Root does not follow a link in a directory that others can write, and its owner does")
    func rootsLink() async throws {
        let output = try await self.run(
            """
            mkdir -m 1777 open; echo old > data; ln -s ../data open/link; chmod 755 .; chmod 666 data
            fetch -o open/link "$url"; echo $?; cat data
            mkdir home; ln -s ../home open/way; ln -s open/way far; fetch -o far/f "$url"; echo $?; ls home
            setpriv --reuid 65534 --regid 65534 --clear-groups "$program" fetch -q --no-gate -o open/link "$url"
            echo $?; cat data
            """)
        #expect(output.output == "1\nold\n1\n0\nbody", "\(output)")
        let problems = ["open/link", "open/way"].map {
            "tidegate: \($0) is a symbolic link in a directory that others can write, and root does not follow it; "
                + "name the file to which it leads\n"
        }
        #expect(output.errors == problems.joined())
        #expect(self.server.requests.count == 1)
    }

    @Test("A replaced file keeps its permissions, its ACL and its attributes", arguments: User.allCases)
    func attributes(user: User) async throws {
        let script = """
            umask 077; echo secret > f; chmod 640 f
            cat > attributes.py <<'END'
            import os, stat, struct, sys
            acl = [(1, 6, -1), (2, 4, 2), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
            acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in acl)
            if sys.argv[1] == "set":
                os.setxattr("f", "user.note", b"mine"), os.setxattr("f", "system.posix_acl_access", acl)
            state = os.stat("f")
            print(oct(state.st_mode), state.st_uid, state.st_gid, os.getxattr("f", "user.note"),
                  os.getxattr("f", "system.posix_acl_access") == acl)
            END
            python3 attributes.py set
            fetch -o f "$url"; echo $?; cat f; echo
            python3 attributes.py show; ls -A
            """
        let output = try await self.run(script, as: user)
        let id = user == .root ? 0 : 65_534
        let state = "0o100640 \(id) \(id) b'mine' True\n"
        #expect(output.output == "\(state)0\nbody\n\(state)attributes.py\nf\n", "\(output)")
    }

    @Test("Another user's file keeps no rights that its new owner's group had not")
    func foreign() async throws {
        let output = try await self.run(
            """
            chmod 777 .; echo old > f; chown 65533:65533 f; chmod 6764 f
            setpriv --reuid 65534 --regid 65534 --clear-groups "$program" fetch -q --no-gate -o f "$url"
            stat -c '%a %u %g' f
            """)
        #expect(output.output == "744 65534 65534\n", "\(output)")
    }

    @Test("A bind-mounted file is written in place, and --continue says so", arguments: ["", "--continue"])
    func bindMount(option: String) async throws {
        let output = try await self.run(
            """
            echo 'a longer old text' > real; touch f
            unshare -m bash -c 'mount --bind real f; "$0" fetch -q --no-gate "$@"; echo $?' "$program" \(option) -o f "$url"
            cat real; echo; ls -A
            """)
        #expect(output.output == "0\nbody\nf\nreal\n", "\(output)")
        let note = "f cannot be replaced: it is written in place, and never continued\n"
        #expect(output.errors == (option.isEmpty ? "" : note))
    }

    @Test("A file is written in place where no other file can be made; a 404 leaves its bytes")
    func closedDirectory() async throws {
        let output = try await self.run(
            """
            echo 'a longer old text' > f; chmod 666 f; chmod 755 .; mkdir -m 1777 sticky; echo old > sticky/f; chmod 666 sticky/f
            as="setpriv --reuid 65534 --regid 65534 --clear-groups"
            $as "$program" fetch -q --no-gate -o f "$none"; echo $?; cat f
            $as "$program" fetch -q --no-gate -o f "$url"; echo $?; cat f; echo
            $as "$program" fetch -q --no-gate -o sticky/f "$url"; echo $?; cat sticky/f; echo; stat -c %u sticky/f
            $as "$program" fetch -q --no-gate -o new "$url"; echo $?; ls -A
            """)
        #expect(
            output.output == "1\na longer old text\n0\nbody\n0\nbody\n0\n1\nf\nsticky\n", "\(output)")
        #expect(output.errors.hasSuffix("tidegate: the directory . cannot be written: Permission denied\n"))
    }

    @Test(
        "/dev/fd/3 and a link such as /dev/stderr are the open descriptor, and what is behind it",
        arguments: User.allCases)
    func descriptors(user: User) async throws {
        let output = try await self.run(
            """
            echo old > a; fetch -o /dev/fd/3 "$url" 3>> a; echo $?; cat a; echo
            fetch -o /proc/self/fd/3 "$url" 3> b; cat b; echo
            ln -s /proc/self/fd/2 err; fetch -o err "$url" 2> c; echo $?; cat c; echo; readlink err
            fetch -o /dev/fd/3 "$url" 3>&1 | cat; echo; fetch -o /dev/fd/1 "$url"; echo
            fetch -o >(cat; echo) "$url"; wait $!
            ls -A
            """, as: user)
        #expect(
            output.output
                == "0\nold\nbody\nbody\n0\nbody\n/proc/self/fd/2\nbody\nbody\nbody\na\nb\nc\nerr\n",
            "\(output)")
        #expect(output.status == 0 && output.errors == "")
    }

    @Test(
        "A descriptor that is closed or open for reading is refused before anything is requested",
        arguments: User.allCases)
    func closedDescriptors(user: User) async throws {
        let output = try await self.run(
            """
            fetch -o /dev/fd/63 "$url"; echo $?
            echo > a; fetch -o /dev/fd/63 "$url" 63< a; echo $?
            """, as: user)
        #expect(output.output == "1\n1\n", "\(output)")
        #expect(output.errors.components(separatedBy: "/dev/fd/63 is not open for writing").count == 3, "\(output)")
        #expect(self.server.requests.isEmpty)
    }

    @Test("A pipe without a reader is refused before anything is requested", arguments: User.allCases)
    func noReader(user: User) async throws {
        let output = try await self.run("mkfifo p; fetch -o p \"$url\"; echo $?; ls -l p | cut -c 1", as: user)
        #expect(output.output == "1\np\n", "\(output)")
        #expect(output.errors.contains("p is a pipe that no process reads, or a device that is absent"), "\(output)")
        #expect(self.server.requests.isEmpty)
    }

    @Test("A reader that closes midway and a full device fail in a sentence that names them", arguments: User.allCases)
    func broken(user: User) async throws {
        let big = try LiveServer { .pattern(4_000_000, for: $0) }
        defer { big.stop() }
        let output = try await self.run(
            """
            mkfifo p; exec 9<>p 8<p 7>p 9>&-
            fetch -o p \(big.url("/x")) 8<&- 7>&- & head -c 10 <&8 > /dev/null; exec 8<&- 7>&-; wait $!; echo $?
            fetch -o /dev/full "$url"; echo $?
            """, as: user)
        #expect(output.output == "1\n1\n", "\(output)")
        #expect(output.errors.contains("/p: write: Broken pipe"), "\(output)")
        #expect(output.errors.contains("/dev/full: write: No space left on device"), "\(output)")
    }

    @Test("Other files of the command line follow links and keep permissions as well")
    func otherFiles() async throws {
        let output = try await self.run(
            """
            for name in har jar; do echo > $name; chmod 640 $name; ln -s $name $name.link; done
            fetch --har har.link --cookie-jar jar.link --discard "$url"; echo $?
            readlink har.link jar.link; stat -c '%a' har jar; grep -c '"log"' har; grep -c Netscape jar
            fetch --har new.har --cookie-jar new.jar --discard "$url"; stat -c '%a' new.har new.jar
            """)
        #expect(output.output == "0\nhar\njar\n640\n640\n1\n1\n600\n600\n", "\(output)")
    }

    @Test("--create-dirs makes the directories of a new file, also behind a link")
    func createDirectories() async throws {
        let output = try await self.run(
            """
            fetch --create-dirs -o a/b/f "$url"; echo $?; cat a/b/f; echo
            ln -s c/d/f link; fetch --create-dirs -o link "$url"; echo $?; cat c/d/f; echo
            fetch --create-dirs --output-dir e/g "$url"; echo $?; cat e/g/x
            """)
        #expect(output.output == "0\nbody\n0\nbody\n0\nbody", "\(output)")
    }
}
