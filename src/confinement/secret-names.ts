/**
 * Places that hold keys, tokens, passwords or what somebody typed, by the manuals of the programs that keep them there. Pure data; `*`
 * stands for any run of letters of one name. They are covered whenever a read rule would show them, unless `--read` names the very
 * place. A list of names is no proof, and the record says so.
 */

/** Below a home folder (confinement.md §2). */
// biome-ignore format: a list of words
export const SECRET_NAMES: readonly string[] = [
  // Keys, agents, password stores and wallets.
  '.ssh', '.gnupg', '.pki', '.password-store', '.local/share/password-store', '.local/share/gopass', '.config/gopass', '.age',
  '.config/age', '.config/sops', '.config/op', '.config/1Password', '.config/Bitwarden*', '.config/keepassxc', '.config/KeePass*',
  '.config/lpass', '.local/share/lpass', '.lpass', '.local/share/rbw', '.cache/rbw', '.local/share/keyrings', '.gnome2/keyrings',
  '.local/share/kwalletd', '.kde*/share/apps/kwallet', '.local/share/pki', '.local/share/plasma-vault', '.vaults', '.fscrypt',
  '.ecryptfs', '.Private', '.minisign', '.step', '.yubico', '.caff', '.cert', '*.kdb', '*.kdbx', '*.key', '*.pem', '*.p12',
  '*.pfx', '*.jks', '*.keystore', '*.ovpn', '*.ppk', '.Xauthority', '.ICEauthority', '.rhosts', '.shosts', '.k5login',
  '.google_authenticator', '.bitcoin', '.electrum', '.ethereum', '.config/solana', '.near-credentials', '.config/Ledger Live',
  '.config/Exodus', '.wireguard', '.config/wireguard', '.cisco', '.android/adbkey', '.android/*.keystore',
  // Clouds, clusters and what is deployed to them.
  '.aws', '.azure', '.Azure', '.config/gcloud', '.gsutil', '.boto', '.s3cfg', '.s3cmd', '.passwd-s3fs', '.mc', '.oci', '.aliyun',
  '.bluemix', '.ibmcloud', '.tccli', '.volcengine', '.config/scw', '.config/hcloud', '.config/doctl', '.config/linode-cli',
  '.linode-cli', '.vultr-cli.yaml', '.civo.json', '.exoscale', '.config/exoscale', '.ovh.conf', '.config/openstack', '.kube',
  '.minikube/profiles', '.minikube/certs', '.rancher', '.talos', '.docker', '.dockercfg', '.config/containers',
  '.config/helm', '.helm', '.argocd', '.config/argocd', '.terraform.d/credentials.tfrc.json', '.terraformrc', '.pulumi/credentials.json',
  '.chef', '.puppetlabs', '.ansible/galaxy_token', '.vault-token', '.vault_pass*', '.consul-token', '.nomad-token', '.doppler', '.infisical',
  '.config/doppler', '.akeyless', '.teleport', '.tsh', '.cloudflared', '.wrangler', '.config/.wrangler', '.config/wrangler',
  '.fly/config.yml', '.config/fly', '.vercel', '.local/share/com.vercel.cli', '.config/netlify', '.netlify', '.config/configstore',
  '.config/heroku', '.railway', '.render', '.config/firebase', '.supabase', '.config/supabase',
  '.ngrok', '.ngrok2', '.config/ngrok', '.config/tailscale', '.snowflake', '.snowsql', '.config/snowflake', '.databrickscfg',
  '.databricks', '.dbt', '.kaggle', '.kaggle.json', '.config/stripe', '.twilio-cli', '.config/sentry*', '.sentryclirc', '.newrelic',
  '.circleci', '.travis', '.bitrise', '.buildkite*', '.config/gitlab-runner', '.gitlab-runner', '.jenkins*', '.sonar',
  // Models and agents.
  '.claude', '.claude.json*', '.config/claude*', '.codex', '.gemini', '.config/github-copilot', '.copilot', '.cursor',
  '.continue', '.aider*', '.openai', '.config/openai', '.anthropic', '.config/anthropic', '.config/io.datasette.llm',
  '.huggingface', '.cache/huggingface/token', '.cache/huggingface/stored_tokens', '.config/wandb', '.replicate', '.modal.toml',
  '.config/goose', '.local/share/opencode/auth.json', '.config/opencode', '.ollama/id_*', '.config/b10x', '.config/b10x-harness',
  '.local/state/b10x-harness', '.cache/b10x-harness',
  // Forges, and registries of packages.
  '.git-credentials', '.config/git/credentials', '.git-credential-cache', '.cache/git', '.gitcookies', '.config/gh', '.config/hub',
  '.config/glab-cli', '.config/tea', '.config/forgejo*', '.config/gitea*', '.config/keybase', '.subversion/auth', '.hgrc',
  '.cvspass', '.netrc', '.netrc.gpg', '.authinfo*', '.npmrc', '.config/npm', '.config/pnpm/rc', '.config/pnpm/auth.ini',
  '.yarnrc', '.yarnrc.yml', '.bunfig.toml', '.config/jsr', '.pypirc', '.pip', '.config/pip',
  '.config/pypoetry/auth.toml', '.config/uv', '.local/share/uv/credentials', '.config/hatch', '.condarc', '.conda/.condarc',
  '.conda/aau_token*', '.config/anaconda*', '.continuum', '.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials',
  '.local/share/gem/credentials', '.config/gem', '.bundle/config', '.composer/auth.json', '.config/composer/auth.json',
  '.nuget/NuGet/NuGet.Config', '.config/NuGet', '.m2/settings*.xml', '.gradle/gradle.properties', '.gradle/init.gradle*',
  '.sbt/credentials', '.sbt/.credentials', '.ivy2/.credentials', '.lein/credentials*', '.hex', '.pub-cache/credentials.json',
  '.config/dart/pub-credentials.json', '.cabal/config', '.swiftpm/configuration', '.config/cosign', '.sigstore', '.conan*/credentials*',
  '.config/go/env', '.terraform.d/plugin-cache/*credentials*',
  // Databases, mail, remote desktops and shares.
  '.pgpass', '.pg_service.conf', '.my.cnf', '.mylogin.cnf', '.mongorc.js', '.mongodb', '.redisclirc', '.config/pgcli', '.config/dbeaver',
  '.local/share/DBeaverData', '.dbeaver*', '.odbc.ini', '.tnsnames', '.msmtprc', '.config/msmtp', '.mbsyncrc', '.config/isyncrc',
  '.offlineimaprc', '.fetchmailrc', '.getmail', '.mutt', '.muttrc', '.config/mutt', '.config/neomutt', '.config/aerc', '.config/himalaya',
  '.thunderbird', '.config/evolution', '.local/share/evolution', '.claws-mail', '.local/share/geary', '.config/geary', '.mail', 'Mail',
  'Maildir', '.smbcredentials', '.smbclient', '.davfs2', '.config/rclone', '.config/restic', '.config/borg', '.config/filezilla',
  '.filezilla', '.config/remmina', '.local/share/remmina', '.remmina', '.vnc', '.config/freerdp', '.anydesk', '.config/syncthing',
  '.local/state/syncthing', '.config/Nextcloud', '.dropbox', '.config/jira*', '.jira.d', '.config/.jira', '.config/atlassian',
  // Browsers, messengers and editors: cookies and sessions.
  '.mozilla', '.librewolf', '.waterfox', '.zen', '.tor-browser', '.local/share/torbrowser', '.config/google-chrome*', '.config/chromium*',
  '.config/BraveSoftware', '.config/microsoft-edge*', '.config/vivaldi*', '.config/opera*', '.config/yandex-browser*', '.config/Arc',
  '.config/falkon', '.local/share/falkon', '.config/epiphany', '.local/share/epiphany', '.local/share/qutebrowser',
  '.config/ungoogled-chromium', '.cache/mozilla', '.cache/google-chrome*', '.cache/chromium*', '.var/app', 'snap', '.config/Slack',
  '.config/discord*', '.config/Signal*', '.config/Element*', '.config/Mattermost', '.config/Microsoft', '.config/teams*',
  '.config/zoomus.conf', '.zoom', '.local/share/TelegramDesktop', '.TelegramDesktop', '.config/WhatsApp*', '.purple',
  '.weechat', '.config/weechat', '.local/share/weechat', '.irssi', '.config/hexchat', '.config/Code*', '.config/VSCodium', '.vscode-server/data',
  '.config/Cursor', '.config/Windsurf', '.config/JetBrains', '.config/github-desktop', '.config/GitHub Desktop',
  '.config/Postman', '.config/Insomnia*', '.insomnia', '.config/bruno', '.config/httpie', '.httpie', '.curlrc', '.wgetrc',
  // What somebody typed, copied or edited.
  '.*history*', '.histfile', '.histdb', '.local/share/fish/fish_history', '.local/share/nushell',
  '.config/nushell/history*', '.local/share/atuin', '.local/share/mcfly', '.local/share/xonsh', '.local/share/powershell', '.lesshst',
  '.local/state/less*', '.local/state/bash', '.local/state/zsh', '.local/state/python*', '.viminfo', '.local/state/nvim',
  '.local/share/nvim/shada', '.emacs.d/auth*', '.local/share/klipper', '.cache/clipboard*', '.cache/greenclip*', '.local/share/gpaste',
  '.local/share/recently-used.xbel', '.local/share/Trash', '.env', '.env.*', '.envrc', '.secrets', '.tokens', '.credentials', '.creds',
  '.config/environment.d', '.config/systemd/user',
  // macOS.
  'Library/Keychains', 'Library/Cookies', 'Library/HTTPStorages', 'Library/Safari', 'Library/Mail', 'Library/Messages',
  'Library/Accounts', 'Library/Application Support/Google', 'Library/Application Support/Firefox',
  'Library/Application Support/BraveSoftware', 'Library/Application Support/Microsoft Edge', 'Library/Application Support/Chromium',
  'Library/Application Support/Code', 'Library/Application Support/Cursor', 'Library/Application Support/Slack',
  'Library/Application Support/Signal', 'Library/Application Support/1Password', 'Library/Application Support/gcloud',
  'Library/Application Support/com.apple.TCC', 'Library/Application Support/Claude', 'Library/Group Containers', 'Library/Containers',
]

/** Of the machine: password tables, keys, stores of daemons, remains of memory, as distributions place them. */
// biome-ignore format: a list of words
export const HOST_SECRETS: readonly string[] = [
  '/.fscrypt', '/home/.ecryptfs', '/home/.fscrypt', '/etc/shadow*', '/etc/gshadow*', '/etc/master.passwd', '/etc/security/opasswd', '/etc/tcb',
  '/etc/sudoers', '/etc/sudoers.d', '/etc/doas.conf', '/etc/ssl/private', '/etc/pki/tls/private', '/etc/pki/consumer',
  '/etc/pki/entitlement*', '/etc/pki/nssdb', '/etc/letsencrypt', '/etc/ssh/ssh_host_*_key', '/etc/krb5*.keytab', '/etc/*.keytab',
  '/etc/wireguard', '/etc/openvpn', '/etc/ipsec.secrets', '/etc/ipsec.d/private', '/etc/swanctl/private', '/etc/strongswan*',
  '/etc/racoon', '/etc/ppp/*-secrets', '/etc/NetworkManager/system-connections', '/etc/wpa_supplicant*', '/etc/iwd', '/etc/hostapd',
  '/etc/netplan', '/etc/credstore', '/etc/credstore.encrypted', '/etc/docker', '/etc/containers/auth.json', '/etc/kubernetes', '/etc/rancher',
  '/etc/etcd', '/etc/cni/net.d', '/etc/consul*', '/etc/vault*', '/etc/nomad*', '/etc/boto.cfg', '/etc/gitlab', '/etc/gitlab-runner',
  '/etc/gitea', '/etc/forgejo', '/etc/grafana', '/etc/jenkins', '/etc/salt/pki', '/etc/puppetlabs', '/etc/chef', '/etc/ansible',
  '/etc/mysql/debian.cnf', '/etc/redis', '/etc/mongod.conf', '/etc/rabbitmq', '/etc/ldap.secret', '/etc/pam_ldap*',
  '/etc/libnss-ldap*', '/etc/nslcd.conf', '/etc/sssd', '/etc/openldap', '/etc/ldap', '/etc/freeradius', '/etc/raddb', '/etc/samba',
  '/etc/postfix/*passwd*', '/etc/exim4/passwd*', '/etc/dovecot', '/etc/mail', '/etc/msmtprc', '/etc/ssmtp', '/etc/fetchmailrc', '/etc/davfs2',
  '/etc/crypttab', '/etc/cryptsetup-keys.d', '/etc/ceph', '/etc/iscsi', '/etc/nvme', '/etc/smbcredentials*', '/etc/cifs*', '/etc/*smb.credentials',
  '/etc/apt/auth.conf*', '/etc/zypp/credentials.d', '/etc/yum.repos.d', '/etc/rhsm', '/etc/pip.conf', '/etc/npmrc', '/etc/netrc',
  '/etc/environment', '/etc/environment.d', '/etc/borgmatic*', '/etc/restic*', '/etc/apache2/*passwd*', '/etc/httpd/*passwd*', '/etc/nginx/*passwd*',
  '/etc/squid/*passwd*', '/etc/cups/passwd*', '/etc/grub.d', '/etc/pve', '/etc/machine-id', '/etc/cloud', '/etc/cloudflared', '/etc/tailscale',
  '/etc/systemd/network', '/etc/default/tailscaled', '/boot/grub*/grub.cfg', '/boot/grub*/user.cfg', '/boot/initr*', '/boot/efi', '/boot/loader',
  '/var/lib/docker', '/var/lib/containerd', '/var/lib/containers', '/var/lib/kubelet', '/var/lib/rancher', '/var/lib/k0s', '/var/lib/etcd',
  '/var/lib/lxd', '/var/lib/lxc', '/var/lib/incus', '/var/lib/libvirt', '/var/lib/machines', '/var/lib/private', '/var/lib/sss',
  '/var/lib/samba', '/var/lib/iwd', '/var/lib/connman', '/var/lib/bluetooth', '/var/lib/NetworkManager', '/var/lib/dhcp*',
  '/var/lib/systemd/credential.secret', '/var/lib/systemd/random-seed', '/var/lib/systemd/coredump', '/var/lib/tpm*', '/var/lib/sbctl',
  '/var/lib/shim-signed', '/var/lib/dkms/mok.key', '/var/lib/fprint', '/var/lib/krb5kdc', '/var/kerberos', '/var/lib/ldap',
  '/var/lib/openldap', '/var/lib/acme', '/var/lib/caddy', '/var/lib/letsencrypt', '/var/lib/cloud', '/var/lib/waagent', '/var/lib/amazon',
  '/var/lib/google', '/var/lib/tailscale', '/var/lib/cloudflared', '/var/lib/wireguard', '/var/lib/mysql*', '/var/lib/mariadb',
  '/var/lib/postgres*', '/var/lib/pgsql', '/var/lib/redis', '/var/lib/valkey', '/var/lib/mongo*', '/var/lib/elasticsearch',
  '/var/lib/influxdb', '/var/lib/rabbitmq', '/var/lib/vault', '/var/lib/consul', '/var/lib/nomad', '/var/lib/jenkins', '/var/lib/gitlab*',
  '/var/lib/gitea', '/var/lib/forgejo', '/var/lib/grafana', '/var/lib/buildkite-agent', '/var/lib/puppet', '/var/lib/snapd/cookie',
  '/var/lib/AccountsService', '/var/lib/gdm*', '/var/opt', '/var/snap', '/var/crash', '/var/backups', '/var/backup', '/var/spool/cron',
  '/var/spool/anacron', '/var/spool/at', '/var/spool/mail', '/var/mail', '/var/spool/postfix', '/var/spool/exim4', '/var/spool/cups',
  '/var/log/audit', '/var/log/btmp*', '/var/log/journal', '/var/log/private', '/var/log/installer', '/var/log/auth.log*', '/var/log/secure*',
  '/var/log/cloud-init*', '/var/log/dmesg*', '/var/log/kern.log*', '/var/tmp', '/var/run/secrets', '/var/run/credentials',
  '/run/secrets*', '/run/credentials', '/run/keys', '/run/agenix*', '/run/user', '/run/cloud-init', '/run/log/journal', '/run/sudo',
  '/sys/firmware/efi/efivars', '/sys/fs/pstore', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/kernel/security',
  '/swapfile*', '/swap.img', '/hibernation*', '/.snapshots',
]

/** In folders of the system, which every policy shows: settings of package managers, which can hold credentials of registries. */
export const REGISTRY_SETTINGS: readonly string[] = [
  '/usr/etc/npmrc',
  '/usr/local/etc/npmrc',
  '/usr/lib/node_modules/npm/npmrc',
  '/usr/local/lib/node_modules/npm/npmrc',
  '/usr/share/nodejs/npm/npmrc',
  '/opt/homebrew/etc/npmrc',
  '/usr/local/etc/pip.conf',
  '/usr/pip.conf',
  '/usr/local/pip.conf',
]

/** Where a variable of ours has moved a base folder of {@link SECRET_NAMES}: what is listed below the one is below the other. */
export const MOVED_BASES: Readonly<Record<string, string>> = {
  XDG_CONFIG_HOME: '.config',
  XDG_DATA_HOME: '.local/share',
  XDG_STATE_HOME: '.local/state',
  XDG_CACHE_HOME: '.cache',
  CARGO_HOME: '.cargo',
  GRADLE_USER_HOME: '.gradle',
  COMPOSER_HOME: '.composer',
}

/** Variables of ours whose value is the place of a secret, or several with colons between them. */
// biome-ignore format: a list of words
export const SECRET_VARIABLES: readonly string[] = [
  'GNUPGHOME', 'PASSWORD_STORE_DIR', 'SOPS_AGE_KEY_FILE', 'KRB5_CLIENT_KTNAME', 'KRB5_KTNAME', 'KRB5CCNAME', 'XAUTHORITY',
  'ICEAUTHORITY', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'BOTO_CONFIG',
  'GOOGLE_APPLICATION_CREDENTIALS', 'CLOUDSDK_CONFIG', 'AZURE_CONFIG_DIR', 'AZURE_FEDERATED_TOKEN_FILE', 'OCI_CLI_CONFIG_FILE', 'OS_CLIENT_CONFIG_FILE',
  'KUBECONFIG', 'DOCKER_CONFIG', 'REGISTRY_AUTH_FILE', 'HELM_REGISTRY_CONFIG', 'HELM_REPOSITORY_CONFIG', 'TF_CLI_CONFIG_FILE', 
  'VAULT_TOKEN_PATH', 'ANSIBLE_VAULT_PASSWORD_FILE', 'GH_CONFIG_DIR', 'GLAB_CONFIG_DIR', 'NETRC',
  'NPM_CONFIG_USERCONFIG', 'npm_config_userconfig', 'NPM_CONFIG_GLOBALCONFIG', 'npm_config_globalconfig', 'PIP_CONFIG_FILE', 'UV_CONFIG_FILE',
  'CONDARC', 'BUNDLE_USER_CONFIG', 'NUGET_CONFIG_FILE', 'PGPASSFILE', 'PGSERVICEFILE', 'MYSQL_TEST_LOGIN_FILE', 'RCLONE_CONFIG',
  'RESTIC_PASSWORD_FILE', 'RCLONE_PASSWORD_FILE', 'BORG_KEYS_DIR', 'DATABRICKS_CONFIG_FILE', 'SNOWFLAKE_HOME', 'KAGGLE_CONFIG_DIR', 'HF_TOKEN_PATH',
  'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'HISTFILE', 'LESSHISTFILE', 'MYSQL_HISTFILE', 'PSQL_HISTORY', 'SQLITE_HISTORY', 'NODE_REPL_HISTORY',
  'PYTHON_HISTORY', 'REDISCLI_HISTFILE', 'CREDENTIALS_DIRECTORY',
]
