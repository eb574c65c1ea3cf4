internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// The root command.
struct TidegateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidegate", abstract: "Was it my network, or theirs?",
        discussion: """
            Monitors the kernel's links, addresses and routes; holds requests while there is no path and retries them \
            when it is back; exports metrics about every request to Prometheus.

            Exit status: 0 yes, 1 no or failed, 2 usage error, 3 unknown, 75 gave up waiting for a path, \
            126 command not executable, 127 command not found, 128+n terminated by signal n.
            """,
        version: "tidegate \(TidegateVersion.description)",
        subcommands: [
            StatusCommand.self, WatchCommand.self, ExplainCommand.self, WaitCommand.self, RunCommand.self,
            FetchCommand.self, ProbeCommand.self, TasksCommand.self, ConnectionsCommand.self, ServeCommand.self,
            IncidentsCommand.self, ReportCommand.self, GuardCommand.self, GenerateCommand.self, SupportCommand.self,
        ])
}

/// `tidegate generate`: prints starter files.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Print starter files.",
        subcommands: [
            GenerateConfigCommand.self, GenerateSchemaCommand.self, GenerateSystemdCommand.self,
            GenerateKubernetesCommand.self,
        ])
}

/// `tidegate generate config`: prints the sidecar's configuration file.
struct GenerateConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print a configuration file with every key, its default and what it is for.",
        discussion: """
            The file does what the sidecar does without one. Keep the keys that you change.

            Example: tidegate generate config > tidegate.yml && tidegate serve --config.file tidegate.yml
            """)

    func run() throws { Terminal().print(String(ConfigurationTemplate.text.dropLast())) }
}

/// `tidegate generate schema`: prints the JSON Schema of the configuration file.
struct GenerateSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the JSON Schema of the configuration file, for editors.",
        discussion: "Example: tidegate generate schema > tidegate.schema.json")

    func run() throws { Terminal().print(ConfigurationJSONSchema.text) }
}

/// `tidegate generate systemd`: the sidecar's unit.
struct GenerateSystemdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "systemd", abstract: "Print a systemd unit of the sidecar.",
        discussion: """
            The service runs as the user tidegate, which needs not exist, without capabilities. It writes only below \
            /var/lib/tidegate and /run/tidegate, and reads /etc/tidegate/tidegate.yml. If the user exists, members of its \
            group may use the control socket.

            --template prints tidegate@.service. Its instance tidegate@ann runs the tasks in /etc/tidegate/users/ann.yml with the \
            rights of the user ann.

            --socket prints tidegate.socket and what the service needs for it. While it is started, systemd listens on its \
            addresses instead of the service, and clients wait during a restart instead of being refused.

            Example: tidegate generate systemd | sudo tee /etc/systemd/system/tidegate.service
            """)

    /// A unit to print.
    enum Unit: String, EnumerableFlag {
        case service, template, socket

        static func help(for unit: Unit) -> ArgumentHelp? {
            switch unit {
            case .service: "Print the service of the sidecar."
            case .template: "Print the template for tasks of users."
            case .socket: "Print the sockets that systemd opens for the service."
            }
        }
    }

    @Flag var unit: Unit = .service

    func run() throws {
        let program = Terminal.executable
        let text =
            switch self.unit {
            case .service: Self.service(of: program)
            case .template: Self.template(of: program)
            case .socket: Self.socket
            }
        Terminal().print(text)
    }

    /// The sockets of the default configuration (systemd.socket(5)).
    private static let socket = """
        # The user tidegate has to exist (systemd-sysusers), and its folder in /run to outlive the service:
        # /etc/systemd/system/tidegate.service.d/socket.conf
        #   [Service]
        #   DynamicUser=no
        #   RuntimeDirectoryPreserve=yes

        [Unit]
        Description=Sockets of the network reachability and request monitor

        [Socket]
        ListenStream=\(ListenAddress.standard)
        ListenStream=\(DefaultPaths(user: 0, environment: { _ in nil }).socket)
        SocketUser=tidegate
        SocketGroup=tidegate
        SocketMode=0660

        [Install]
        WantedBy=sockets.target
        """

    /// The unit (systemd.unit(5), systemd.exec(5)) with the path of the program.
    private static func service(of program: String) -> String {
        """
        [Unit]
        Description=Network reachability and request monitor
        After=network-pre.target

        [Service]
        Environment=ARGS=
        EnvironmentFile=-/etc/default/tidegate
        ExecStart=\(program) serve --config.file /etc/tidegate/tidegate.yml --state.dir /var/lib/tidegate $ARGS
        DynamicUser=yes
        User=tidegate
        Group=tidegate
        StateDirectory=tidegate
        RuntimeDirectory=tidegate
        LimitNOFILE=65536
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        \(self.common)
        """
    }

    /// The template unit.
    ///
    /// An instance may write wherever its user may, except to the system's directories.
    private static func template(of program: String) -> String {
        """
        [Unit]
        Description=Scheduled requests of %i
        After=network-pre.target

        [Service]
        ExecStart=\(program) serve --config.file /etc/tidegate/users/%i.yml --state.dir /var/lib/tidegate-%i \
        --control.socket /run/tidegate-%i/control.sock --web.listen-address 127.0.0.1:0
        User=%i
        StateDirectory=tidegate-%i
        RuntimeDirectory=tidegate-%i
        ProtectSystem=full
        \(self.common)
        """
    }

    private static let common = """
        Type=notify
        WatchdogSec=30
        ExecReload=/bin/kill -HUP $MAINPID
        Restart=on-failure
        TimeoutStopSec=15
        StateDirectoryMode=0700
        UMask=0077
        CapabilityBoundingSet=
        NoNewPrivileges=yes
        PrivateDevices=yes
        ProtectClock=yes
        ProtectControlGroups=yes
        ProtectHostname=yes
        ProtectKernelLogs=yes
        ProtectKernelModules=yes
        ProtectKernelTunables=yes
        ProtectProc=invisible
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        RemoveIPC=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallErrorNumber=EPERM
        SystemCallFilter=@system-service
        SystemCallFilter=~@privileged @resources

        [Install]
        WantedBy=multi-user.target
        """
}

/// `tidegate tasks`: controls the daemon's tasks over its control socket.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "List, submit and control the tasks of a running daemon.",
        discussion: """
            Connects to the control socket of `tidegate serve`. A submitted task survives a crash of the daemon and a \
            reboot.

            A task is named by its key, its name, its id, or the beginning of its id (at least four characters) if \
            that is unambiguous. A key or name with several tasks means the one that is not over, or else the newest.

            Examples:
              tidegate tasks submit https://example.com/big.iso -o /srv/big.iso --key iso
              tidegate tasks wait iso
              tidegate tasks list --state failed

            The control socket is open to root, the daemon's user and the members of the socket's group. A user's \
            commands go to the daemon of that user; for root's daemon: --control.socket \
            \(DefaultPaths(user: 0, environment: { _ in nil }).socket). Nothing is sent to another user's daemon \
            without --control.user.

            Exit status: 0 on success, 1 if no daemon answers or there is no such task, 2 for usage errors, such as a \
            word that fits several tasks; "tasks wait" has its own.
            """,
        subcommands: [
            TasksListCommand.self, TasksShowCommand.self, TasksGetCommand.self, TasksSubmitCommand.self,
            TasksSuspendCommand.self,
            TasksResumeCommand.self, TasksCancelCommand.self, TasksWaitCommand.self, TasksWatchCommand.self,
        ])
}
